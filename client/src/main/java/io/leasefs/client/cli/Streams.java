package io.leasefs.client.cli;

import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.Map;

/**
 * What a command reads and writes: replaced as a whole in tests.
 *
 * @param out carries only what was asked for; a failing write means that the reader has gone
 * @param err progress, warnings, summaries, errors
 * @param outIsTerminal true where a person reads {@code out}
 * @param errIsTerminal true where a person reads {@code err}
 */
public record Streams(
    InputStream in,
    OutputStream out,
    PrintStream err,
    boolean inIsTerminal,
    boolean outIsTerminal,
    boolean errIsTerminal,
    Map<String, String> environment) {

  /** Those of this process; the launcher says in LEASEFS_TERMINAL which ones are terminals. */
  public static Streams ofProcess() {
    String terminals = System.getenv().getOrDefault("LEASEFS_TERMINAL", "");
    return new Streams(
        System.in,
        new StandardOutput(),
        System.err,
        terminals.contains("in"),
        terminals.contains("out"),
        terminals.contains("err"),
        System.getenv());
  }
}
