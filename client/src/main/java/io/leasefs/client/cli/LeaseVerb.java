package io.leasefs.client.cli;

import io.leasefs.common.api.AdminApi.ChunkStatus;
import io.leasefs.common.api.AdminApi.LeaseStatus;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs lease ls|get|watch|timeline}. */
@Command(
    description = "Chunk leases: who is primary of what, until when.",
    subcommands = {
      LeaseVerb.Ls.class,
      LeaseVerb.Get.class,
      LeaseVerb.Watch.class,
      LeaseVerb.Timeline.class
    },
    footer = {
      "",
      "Examples:",
      "  leasefs lease ls",
      "  leasefs lease get /logs/web.log",
      "  leasefs lease timeline /logs/web.log --since 90s"
    })
final class LeaseVerb extends VerbGroup {
  static Map<String, Object> json(LeaseStatus lease) {
    return Json.object(
        "chunk", lease.chunk().toString(),
        "path", lease.path().map(FilePath::text).orElse(null),
        "index", lease.index(),
        "version", lease.version(),
        "token", lease.token(),
        "holder", lease.holder().name(),
        "session", lease.session().toString(),
        "grantorLeftNanos", lease.grantorLeftNanos(),
        "revoked", lease.revoked());
  }

  @Command(
      name = "ls",
      description = "List the leases that are held.",
      footer = {
        "",
        "Examples:",
        "  leasefs lease ls",
        "  leasefs lease ls --node cs2 --expiring 5s"
      })
  static final class Ls extends Verb {
    @Option(names = "--node", paramLabel = "NODE", description = "Only those of this node.")
    private @Nullable String node;

    @Option(
        names = "--expiring",
        paramLabel = "DURATION",
        description = "Only those that run out within this unless renewed.")
    private @Nullable String expiring;

    @Override
    protected int run() {
      long limit = expiring == null ? Long.MAX_VALUE : Quantities.parseDuration(expiring);
      Listing listing =
          out().listing("CHUNK", ">VERSION", "PRIMARY", ">LEFT", "PATH", "+TOKEN", "+SESSION");
      Optional<ServerId> holder = Optional.ofNullable(node).map(ServerId::new);
      for (LeaseStatus lease : await(client().admin().leases(holder))) {
        if (lease.grantorLeftNanos() <= limit) {
          listing.add(
              lease.chunk().toString(),
              json(lease),
              lease.chunk().toString(),
              Long.toString(lease.version()),
              lease.holder().name() + (lease.revoked() ? " (revoked)" : ""),
              Quantities.duration(Math.max(0, lease.grantorLeftNanos())),
              lease.path().map(p -> p.text() + "#" + lease.index()).orElse("-"),
              Long.toString(lease.token()),
              lease.session().toString());
        }
      }
      listing.finish();
      return ExitCode.DONE;
    }
  }

  @Command(
      name = "get",
      description = "Show the lease of one chunk.",
      footer = {
        "",
        "Examples:",
        "  leasefs lease get /logs/web.log     # of the file's last chunk",
        "  leasefs lease get 0x51c --json"
      })
  static final class Get extends Verb {
    @Parameters(paramLabel = "CHUNK", description = "Handle, PATH#INDEX, or PATH.")
    private String chunk = "";

    @Override
    protected int run() {
      ChunkHandle handle = ChunkNames.one(client(), chunk);
      ChunkStatus status = await(client().admin().chunk(handle));
      LeaseStatus lease =
          status
              .lease()
              .orElseThrow(
                  () ->
                      new LeaseFsException(
                          ErrorCode.NOT_FOUND,
                          chunk + ": chunk " + handle + " has no primary now",
                          status.layout().seal().isPresent()
                              ? "it is sealed: nobody writes to it"
                              : "see 'leasefs why " + chunk + "'"));
      out()
          .answer(
              json(lease),
              String.format(
                  "chunk %s  version %d  primary %s  token %d%n"
                      + "the master's promise ends in %s unless renewed%s",
                  handle,
                  lease.version(),
                  lease.holder(),
                  lease.token(),
                  Quantities.duration(Math.max(0, lease.grantorLeftNanos())),
                  lease.revoked() ? "; revoked" : ""));
      return ExitCode.DONE;
    }
  }

  @Command(
      name = "watch",
      description = "Follow what happens to leases.",
      footer = {
        "",
        "Examples:",
        "  leasefs lease watch --all",
        "  leasefs lease watch /logs/web.log"
      })
  static final class Watch extends Verb {
    private static final long FOLLOW_NANOS = 10_000_000_000L;

    @Option(names = "--all", description = "Of all chunks (the default without a chunk).")
    private boolean all;

    @Parameters(paramLabel = "CHUNK", arity = "0..1", description = "Handle, PATH#INDEX, or PATH.")
    private @Nullable String chunk;

    @Override
    protected int run() {
      List<ChunkHandle> wanted = chunk == null || all ? List.of() : ChunkNames.all(client(), chunk);
      long after = 0;
      List<ClusterEvent> past = page(after, 0);
      while (!past.isEmpty()) {
        after = past.get(past.size() - 1).number();
        past = page(after, 0);
      }
      while (true) {
        for (ClusterEvent event : page(after, FOLLOW_NANOS)) {
          after = Math.max(after, event.number());
          boolean about =
              event.chunk().isPresent()
                  && (wanted.isEmpty() || wanted.contains(event.chunk().get()));
          if (about) {
            out().event(EventRows.json(event), EventRows.line(event));
          }
        }
      }
    }

    private List<ClusterEvent> page(long after, long waitNanos) {
      return await(client().admin().events(after, 1000, waitNanos));
    }
  }

  @Command(
      name = "timeline",
      description = {
        "Draw who was primary of a chunk, or of a file's chunks, when, and the gaps.",
        "Where a primary was lost and its writers went on in the next chunk, the gap is from when"
            + " it was last heard of to the next chunk's primary."
      },
      footer = {
        "",
        "Examples:",
        "  leasefs lease timeline /logs/web.log --since 90s",
        "  leasefs lease timeline /logs/web.log#2",
        "  leasefs lease timeline 0x51c --width 60"
      })
  static final class Timeline extends Verb {
    @Option(
        names = "--since",
        paramLabel = "AGO",
        defaultValue = "10m",
        description = "How far back. Default: 10m.")
    private String since = "10m";

    @Option(
        names = "--width",
        paramLabel = "N",
        defaultValue = "64",
        description = "Columns of the picture. Default: 64.")
    private int width = 64;

    @Parameters(
        paramLabel = "CHUNK",
        description = "Handle, PATH#INDEX, or PATH for all chunks of a file.")
    private String chunk = "";

    @Override
    protected int run() {
      List<ChunkHandle> handles = ChunkNames.all(client(), chunk);
      if (handles.isEmpty()) {
        // Says why there is none.
        ChunkNames.one(client(), chunk);
      }
      Set<ChunkHandle> wanted = new HashSet<>(handles);
      List<ClusterEvent> events = new ArrayList<>();
      long after = 0;
      List<ClusterEvent> page = page(after);
      while (!page.isEmpty()) {
        after = page.get(page.size() - 1).number();
        for (ClusterEvent event : page) {
          if (event.chunk().isEmpty() || wanted.contains(event.chunk().get())) {
            events.add(event);
          }
        }
        page = page(after);
      }
      LeaseTimeline timeline =
          LeaseTimeline.of(
              handles,
              events,
              System.currentTimeMillis(),
              Quantities.parseDuration(since) / 1_000_000);
      out().answer(timeline.json(), timeline.draw(Math.max(20, width)));
      return ExitCode.DONE;
    }

    private List<ClusterEvent> page(long after) {
      return await(client().admin().events(after, 1000, 0));
    }
  }
}
