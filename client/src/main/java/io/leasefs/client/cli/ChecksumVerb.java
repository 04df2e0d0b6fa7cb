package io.leasefs.client.cli;

import io.leasefs.common.api.ChunkApi.ReplicaStatus;
import io.leasefs.common.checksum.Crc32c;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.FileLayout;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.Location;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs checksum}. */
@Command(
    description = "Print the CRC32C of a file, without reading it.",
    footer = {
      "",
      "Examples:",
      "  leasefs checksum /a.bin",
      "  leasefs checksum --replicas /a.bin   # also read every copy from its disk"
    })
final class ChecksumVerb extends Verb {
  @Option(names = "--replicas", description = "Read and compare every copy.")
  private boolean replicas;

  @Parameters(paramLabel = "PATH", arity = "1..*", description = "Files.")
  private List<String> paths = new ArrayList<>();

  private boolean damaged;

  @Override
  protected int run() throws Exception {
    Listing listing = out().listing("", ">", "").withoutHeader();
    int exit =
        each(
            paths,
            path -> {
              FileLayout layout = settled(path);
              int crc = 0;
              long length = 0;
              List<Copy> copies = new ArrayList<>();
              for (ChunkLayout chunk : layout.chunks()) {
                ChunkSeal seal =
                    chunk
                        .seal()
                        .orElseThrow(
                            () ->
                                new LeaseFsException(
                                    ErrorCode.BUSY,
                                    path + ": is being written, so it has no checksum yet",
                                    "ask again when it is closed"));
                crc = Crc32c.combine(crc, seal.checksum(), seal.lengthBytes());
                length += seal.lengthBytes();
                if (replicas) {
                  copies.addAll(read(path, chunk, seal));
                }
              }
              String text = String.format("%08x", crc);
              listing.add(
                  text, json(path, text, length, copies), text, Long.toString(length), path.text());
              if (!out().isJson() && out().format() != OutputFormat.NAME) {
                copies.forEach(copy -> listing.add("", Map.of(), copy.cells()));
              }
            });
    listing.finish();
    return damaged ? ExitCode.DAMAGED : exit;
  }

  /** A closed file's last chunk may still be on its way to be sealed: that does not take long. */
  private FileLayout settled(FilePath path) {
    FileLayout[] layout = {client().layout(path.text())};
    if (!isSealed(layout[0]) && client().stat(path.text()).openWriters() == 0) {
      boolean unused =
          waiting(path + " to be sealed")
              .within(
                  () -> {
                    layout[0] = client().layout(path.text());
                    return isSealed(layout[0]);
                  });
    }
    return layout[0];
  }

  private static boolean isSealed(FileLayout layout) {
    return layout.chunks().stream().allMatch(chunk -> chunk.seal().isPresent());
  }

  /** A copy of a chunk, as it was read from its disk. */
  private record Copy(ChunkHandle chunk, ServerId server, int found, int wanted, long length) {
    String[] cells() {
      String what = "  chunk " + chunk + " on " + server + (found == wanted ? "" : "  DAMAGED");
      return new String[] {String.format("%08x", found), Long.toString(length), what};
    }

    Map<String, Object> json() {
      return Json.object(
          "chunk", chunk.toString(),
          "server", server.name(),
          "crc32c", String.format("%08x", found),
          "good", found == wanted);
    }
  }

  private Map<String, Object> json(FilePath path, String crc, long length, List<Copy> copies) {
    Map<String, Object> object =
        new LinkedHashMap<>(Json.object("path", path.text(), "crc32c", crc, "lengthBytes", length));
    if (replicas) {
      object.put("replicas", copies.stream().map(Copy::json).toList());
    }
    return object;
  }

  private List<Copy> read(FilePath path, ChunkLayout chunk, ChunkSeal seal) {
    List<Copy> copies = new ArrayList<>();
    for (Location location : chunk.locations()) {
      ReplicaStatus status = SettledReplica.read(this, chunk, location);
      int found = status.checksum();
      ServerId server = location.member().server();
      copies.add(new Copy(chunk.handle(), server, found, seal.checksum(), seal.lengthBytes()));
      if (!status.badBlocks().isEmpty()) {
        damaged = true;
        warn(
            String.format(
                "%s: chunk %s on %s has blocks of 64 KiB that do not match: %s",
                path, chunk.handle(), server, status.badBlocks()));
      } else if (found != seal.checksum()) {
        damaged = true;
        warn(
            String.format(
                "%s: chunk %s on %s has %08x, not %08x",
                path, chunk.handle(), server, found, seal.checksum()));
      }
    }
    return copies;
  }
}
