package io.leasefs.cluster.cli;

import io.leasefs.client.cli.ContextFile;
import io.leasefs.client.cli.ExitCode;
import io.leasefs.client.cli.Json;
import io.leasefs.client.cli.Quantities;
import io.leasefs.client.cli.Verb;
import io.leasefs.cluster.mini.MiniCluster;
import io.leasefs.cluster.mini.MiniConfig;
import io.leasefs.cluster.mini.RestartRequests;
import io.leasefs.cluster.mini.ServerChild;
import io.leasefs.common.error.LeaseFsException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code leasefs mini}. */
@Command(
    description = "Run a whole cluster on this machine until Ctrl-C.",
    subcommands = MiniRestartVerb.class,
    footer = {
      "",
      "Examples:",
      "  leasefs mini                          # then 'leasefs ls /' in another terminal",
      "  leasefs mini --nodes 5 --ttl 3s --data /var/tmp/lab",
      "  leasefs mini --name second            # several run side by side",
      "  leasefs mini restart cs2              # in another terminal: after its end"
    })
public final class MiniVerb extends Verb {
  private static final long LOOK_MILLIS = 200;

  private static final long STOP_SECONDS = 10;

  @Option(
      names = "--nodes",
      paramLabel = "N",
      defaultValue = "4",
      description = "Chunkservers, 1 to 32. Default: 4.")
  private int nodes = 4;

  @Option(
      names = "--data",
      paramLabel = "DIR",
      description = "Folder to keep everything in. Default: a new one, removed at the end.")
  private @Nullable Path data;

  @Option(names = "--keep", description = "Do not remove the temporary folder at the end.")
  private boolean keep;

  @Option(
      names = "--ttl",
      paramLabel = "DURATION",
      defaultValue = "10s",
      description = "Lease time, T. Default: 10s.")
  private String ttl = "10s";

  @Option(
      names = "--chunk-size",
      paramLabel = "SIZE",
      defaultValue = "64MiB",
      description = "Default: 64MiB.")
  private String chunkSize = "64MiB";

  @Option(
      names = "--replication",
      paramLabel = "N",
      defaultValue = "3",
      description = "Copies. Default: 3.")
  private int replication = 3;

  @Option(
      names = "--name",
      paramLabel = "NAME",
      description = "Name of the context. Default: mini, or mini-2 ... where that one runs.")
  private @Nullable String name;

  @Override
  protected int run() throws Exception {
    long begun = System.nanoTime();
    try (MiniCluster cluster = MiniCluster.start(config())) {
      String context = writeContext(cluster);
      Thread forget = new Thread(() -> forget(context, cluster), "forget the context");
      Runtime.getRuntime().addShutdownHook(forget);
      announce(cluster, context, System.nanoTime() - begun);
      cluster.shortage().ifPresent(why -> warn(why.getMessage() + ": " + why.hint()));
      int exitCode = watch(cluster);
      forget(context, cluster);
      return exitCode;
    }
  }

  private MiniConfig config() throws IOException {
    List<String> masterFlags = new ArrayList<>(MiniConfig.leaseTtl(Quantities.parseDuration(ttl)));
    masterFlags.addAll(List.of("--chunk-size", chunkSize));
    masterFlags.addAll(List.of("--replication", Integer.toString(replication), "--allow-faults"));
    List<String> chunkServerFlags = List.of("--allow-faults");
    return data == null
        ? MiniConfig.inNewFolder("leasefs-mini-", keep, nodes, masterFlags, chunkServerFlags)
        : MiniConfig.in(data, nodes, masterFlags, chunkServerFlags);
  }

  private void announce(MiniCluster cluster, String context, long tookNanos) {
    List<Object> servers = new ArrayList<>();
    for (ServerChild server : cluster.chunkServers()) {
      servers.add(
          Json.object(
              "name", server.name(), "address", server.address().toString(), "pid", server.pid()));
    }
    out()
        .event(
            Json.object(
                "ready",
                true,
                "context",
                context,
                "master",
                cluster.masterAddress().toString(),
                "masterPid",
                cluster.master().pid(),
                "chunkservers",
                servers,
                "folder",
                cluster.folder().toString(),
                "millis",
                tookNanos / 1_000_000),
            String.format(
                "cluster ready: 1 master (%s), %d chunkservers, in %s%n"
                    + "context '%s' is in use: try 'leasefs status' in another terminal%n"
                    + "Ctrl-C stops everything",
                cluster.masterAddress(), cluster.chunkServers().size(), cluster.folder(), context));
  }

  private int watch(MiniCluster cluster) throws Exception {
    RestartRequests requests = new RestartRequests(cluster.folder());
    Set<String> told = new HashSet<>();
    while (!cluster.isOver()) {
      Thread.sleep(LOOK_MILLIS);
      for (Optional<String> server = requests.take();
          server.isPresent();
          server = requests.take()) {
        requests.answer(server.get(), restart(cluster, server.get()));
        told.remove(server.get());
      }
      for (ServerChild ended : cluster.ended()) {
        if (told.add(ended.name())) {
          warn(
              ended.name()
                  + " has ended, the others go on: 'leasefs mini restart "
                  + ended.name()
                  + "' brings it back; its log is "
                  + ended.log());
        }
      }
    }
    return ExitCode.DONE;
  }

  /** Why it could not be started; empty where it runs. */
  private static String restart(MiniCluster cluster, String server) {
    try {
      if (server.equals(cluster.master().name())) {
        cluster.master().stop(STOP_SECONDS);
        cluster.startMaster();
      } else {
        Optional<ServerChild> child = cluster.chunkServer(server);
        if (child.isEmpty()) {
          return server + " is no server of this mini-cluster";
        }
        child.get().stop(STOP_SECONDS);
        cluster.restart(child.get());
      }
      return "";
    } catch (LeaseFsException e) {
      return String.valueOf(e.getMessage());
    }
  }

  private String writeContext(MiniCluster cluster) throws IOException {
    ContextFile file = settings().contexts();
    String chosen = name == null ? freeName(file) : name;
    file.with(
            chosen,
            new ContextFile.Context(
                List.of(cluster.masterAddress().toString()),
                cluster.folder().toString(),
                Optional.of(cluster.id())),
            true)
        .write();
    return chosen;
  }

  private static String freeName(ContextFile file) {
    for (int i = 1; ; i++) {
      String candidate = i == 1 ? "mini" : "mini-" + i;
      ContextFile.Context there = file.contexts().get(candidate);
      if (there == null || !Files.isDirectory(Path.of(there.folder()))) {
        return candidate;
      }
    }
  }

  /** By the main thread or at the end of this JVM; the second finds nothing to do. */
  private synchronized void forget(String context, MiniCluster cluster) {
    try {
      ContextFile file = settings().contexts();
      ContextFile.Context there = file.contexts().get(context);
      if (there != null && there.folder().equals(cluster.folder().toString())) {
        file.without(context).write();
      }
    } catch (IOException e) {
      warn("context '" + context + "' could not be forgotten: " + e.getMessage());
    }
  }
}
