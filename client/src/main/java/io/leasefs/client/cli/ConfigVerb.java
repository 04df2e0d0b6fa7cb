package io.leasefs.client.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code leasefs config view}. */
@Command(
    description = "Settings of the command line.",
    subcommands = ConfigVerb.View.class,
    footer = {"", "Examples:", "  leasefs config view", "  leasefs config view --sources"})
final class ConfigVerb extends VerbGroup {
  @Command(
      name = "view",
      description = "Print each setting and its value.",
      footer = {"", "Examples:", "  leasefs config view", "  leasefs config view --sources"})
  static final class View extends Verb {
    @Option(names = "--sources", description = "Say where each value came from.")
    private boolean sources;

    @Override
    protected int run() {
      Listing listing =
          sources ? out().listing("KEY", "VALUE", "SOURCE") : out().listing("KEY", "VALUE");
      for (String key : Settings.KEYS) {
        Settings.Sourced value = settings().value(key);
        if (sources) {
          listing.add(
              key,
              Json.object("key", key, "value", value.text(), "source", value.source()),
              key,
              value.text(),
              value.source());
        } else {
          listing.add(key, Json.object("key", key, "value", value.text()), key, value.text());
        }
      }
      listing.finish();
      return ExitCode.DONE;
    }
  }
}
