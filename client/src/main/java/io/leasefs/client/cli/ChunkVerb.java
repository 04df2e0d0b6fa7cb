package io.leasefs.client.cli;

import io.leasefs.common.api.AdminApi.ChunkStatus;
import io.leasefs.common.api.AdminApi.KnownReplica;
import io.leasefs.common.api.AdminApi.LeaseStatus;
import io.leasefs.common.api.ChunkApi.ReplicaStatus;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.Location;
import io.leasefs.common.model.Member;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs chunk ls|get|verify}. */
@Command(
    description = "Chunks of a file and their replicas.",
    subcommands = {ChunkVerb.Ls.class, ChunkVerb.Get.class, ChunkVerb.Verify.class},
    footer = {"", "Examples:", "  leasefs chunk ls /logs/web.log", "  leasefs chunk get 0x51c"})
final class ChunkVerb extends VerbGroup {
  static Map<String, Object> json(ChunkStatus status) {
    ChunkLayout layout = status.layout();
    return Json.object(
        "chunk", layout.handle().toString(),
        "file", status.file().toString(),
        "path", status.path().map(FilePath::text).orElse(null),
        "index", layout.index(),
        "fileOffset", layout.fileOffset(),
        "version", layout.configuration().version(),
        "lastVersion", status.lastVersion(),
        "goal", status.goal(),
        "primary", layout.configuration().primary().map(Object::toString).orElse(null),
        "members", layout.configuration().members().stream().map(m -> m.server().name()).toList(),
        "sealed", layout.seal().isPresent(),
        "lengthBytes", layout.seal().map(ChunkSeal::lengthBytes).orElse(null),
        "checksum", layout.seal().map(s -> String.format("%08x", s.checksum())).orElse(null),
        "lease", status.lease().map(LeaseVerb::json).orElse(null),
        "pending",
            status
                .pending()
                .map(
                    p ->
                        Json.object(
                            "version", p.version(),
                            "step", p.step(),
                            "reason", p.reason(),
                            "seed", p.seed().map(Object::toString).orElse(null),
                            "forNanos", p.forNanos()))
                .orElse(null),
        "replicas",
            status.replicas().stream()
                .map(
                    r ->
                        Json.object(
                            "node", r.server().name(),
                            "replica", r.replica().toString(),
                            "member", r.member(),
                            "state", r.state().name().toLowerCase(Locale.ROOT),
                            "version", r.version(),
                            "lengthBytes", r.lengthBytes()))
                .toList());
  }

  @Command(
      name = "ls",
      description = "List the chunks of a file.",
      footer = {
        "",
        "Examples:",
        "  leasefs chunk ls /logs/web.log",
        "  leasefs chunk ls -h /a --json"
      })
  static final class Ls extends Verb {
    @Option(names = "-h", description = "Sizes in KiB, MiB, GiB.")
    private boolean human;

    @Parameters(paramLabel = "PATH", description = "A file.")
    private String path = "";

    @Override
    protected int run() {
      Listing listing =
          out().listing(">#", "CHUNK", ">VERSION", ">SIZE", "PRIMARY", ">LEASE LEFT", "REPLICAS");
      for (ChunkLayout layout : client().layout(path).chunks()) {
        ChunkStatus status = await(client().admin().chunk(layout.handle()));
        String primary = status.lease().map(l -> l.holder().name()).orElse("-");
        listing.add(
            layout.handle().toString(),
            json(status),
            Integer.toString(layout.index()),
            layout.handle().toString(),
            Long.toString(status.layout().configuration().version()),
            status.layout().seal().map(s -> size(s.lengthBytes())).orElse("open"),
            primary,
            status.lease().map(LeaseStatus::grantorLeftNanos).map(Quantities::duration).orElse("-"),
            status.layout().configuration().members().stream()
                .map(m -> m.server().name() + (m.server().name().equals(primary) ? "*" : ""))
                .collect(Collectors.joining(" ")));
      }
      listing.finish();
      return ExitCode.DONE;
    }

    private String size(long bytes) {
      return human ? Quantities.human(bytes) : Long.toString(bytes);
    }
  }

  @Command(
      name = "get",
      description = "Show all that the master knows of one chunk.",
      footer = {
        "",
        "Examples:",
        "  leasefs chunk get 0x51c",
        "  leasefs chunk get /logs/web.log#2"
      })
  static final class Get extends Verb {
    @Parameters(paramLabel = "CHUNK", description = "Handle, or PATH#INDEX.")
    private String chunk = "";

    @Override
    protected int run() {
      ChunkStatus status = await(client().admin().chunk(ChunkNames.one(client(), chunk)));
      Map<String, Object> first = new LinkedHashMap<>(json(status));
      first.remove("replicas");
      StringBuilder text = new StringBuilder(HumanValues.lines(first));
      for (KnownReplica replica : status.replicas()) {
        text.append(
            String.format(
                "%nreplica %s %s%s version %d, %s",
                replica.server(),
                replica.state().name().toLowerCase(Locale.ROOT),
                replica.member() ? ", member," : ", not a member,",
                replica.version(),
                Quantities.count(replica.lengthBytes(), "byte", "bytes")));
      }
      out().answer(json(status), text.toString());
      return ExitCode.DONE;
    }
  }

  @Command(
      name = "verify",
      description = "Read every replica's bytes from its disk and compare them.",
      footer = {
        "",
        "Examples:",
        "  leasefs chunk verify 0x51c",
        "  leasefs chunk verify /logs/web.log --replica cs2   # all chunks, one node's copies"
      })
  static final class Verify extends Verb {
    @Option(names = "--replica", paramLabel = "NODE", description = "Only the copy on this node.")
    private @Nullable String replica;

    @Parameters(paramLabel = "CHUNK", description = "Handle, PATH#INDEX, or PATH for all chunks.")
    private String chunk = "";

    @Override
    protected int run() {
      Listing listing = out().listing("CHUNK", "NODE", ">BYTES", "CHECKSUM", "RESULT");
      boolean good = true;
      for (ChunkHandle handle : ChunkNames.all(client(), chunk)) {
        good &= verify(handle, listing);
      }
      listing.finish();
      return good ? ExitCode.DONE : ExitCode.DAMAGED;
    }

    private boolean verify(ChunkHandle handle, Listing listing) {
      ChunkLayout layout = await(client().admin().chunk(handle)).layout();
      boolean good = true;
      Set<String> contents = new HashSet<>();
      Set<String> reached = new HashSet<>();
      for (Location location : layout.locations()) {
        String node = location.member().server().name();
        if (replica != null && !replica.equals(node)) {
          continue;
        }
        reached.add(node);
        String bytes = "-";
        Long length = null;
        String checksum = "-";
        String result;
        List<Long> bad = new ArrayList<>();
        try {
          ReplicaStatus found = SettledReplica.read(this, layout, location);
          length = found.report().lengthBytes();
          bytes = Long.toString(found.report().lengthBytes());
          checksum = String.format("%08x", found.checksum());
          bad.addAll(found.badBlocks());
          boolean sealDiffers =
              layout.seal().isPresent()
                  && (layout.seal().get().checksum() != found.checksum()
                      || layout.seal().get().lengthBytes() != found.report().lengthBytes());
          result =
              !bad.isEmpty() ? "bad blocks " + bad : sealDiffers ? "differs from its seal" : "good";
          contents.add(bytes + " " + checksum);
        } catch (LeaseFsException e) {
          result = Objects.requireNonNull(e.getMessage());
        }
        good &= result.equals("good");
        listing.add(
            handle + " " + node,
            Json.object(
                "chunk", handle.toString(),
                "node", node,
                "lengthBytes", length,
                "checksum", checksum.equals("-") ? null : checksum,
                "badBlocks", bad,
                "result", result),
            handle.toString(),
            node,
            bytes,
            checksum,
            result);
      }
      for (Member member : layout.configuration().members()) {
        String node = member.server().name();
        if (!reached.contains(node) && (replica == null || replica.equals(node))) {
          good = false;
          listing.add(
              handle + " " + node,
              Json.object("chunk", handle.toString(), "node", node, "result", "unreachable"),
              handle.toString(),
              node,
              "-",
              "-",
              "unreachable");
        }
      }
      if (contents.size() > 1 && layout.seal().isPresent()) {
        warn("the replicas of " + handle + " differ");
        good = false;
      }
      return good;
    }
  }
}
