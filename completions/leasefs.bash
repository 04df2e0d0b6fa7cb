# Bash completion of leasefs: source this file, or install it as
# /usr/share/bash-completion/completions/leasefs. The first <Tab> asks the program itself.
_leasefs_load() {
  complete -r leasefs 2>/dev/null
  # shellcheck disable=SC1090
  source <(leasefs completion bash 2>/dev/null) && return 124
}
complete -F _leasefs_load leasefs
