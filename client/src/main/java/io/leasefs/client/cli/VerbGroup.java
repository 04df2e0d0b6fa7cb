package io.leasefs.client.cli;

import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A verb that only holds others, such as {@code lease}. */
public abstract class VerbGroup implements Runnable {
  @Spec @Nullable CommandSpec spec;

  @Override
  public final void run() {
    CommandSpec here = Objects.requireNonNull(spec);
    throw new ParameterException(
        here.commandLine(),
        "say what to do: "
            + here.qualifiedName()
            + " "
            + String.join("|", here.subcommands().keySet()));
  }
}
