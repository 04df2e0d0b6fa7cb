package io.leasefs.master.control;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FileLayout;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.Location;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.master.state.ChunkEntry;
import io.leasefs.master.state.FileEntry;
import io.leasefs.master.state.ServerEntry;
import io.leasefs.master.state.StateView;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * What a client of one listener is told of chunks: the log's members, without those that this
 * master knows to be out of reach, at the addresses that belong to the listener. Pure.
 */
public final class Layouts {
  private final Function<Endpoints, ServerAddress> side;

  /**
   * @param side which of a server's two addresses the clients of the listener are told
   */
  public Layouts(Function<Endpoints, ServerAddress> side) {
    this.side = side;
  }

  /** Where these clients reach a server. */
  public ServerAddress address(Endpoints endpoints) {
    return side.apply(endpoints);
  }

  /** One chunk. */
  public ChunkLayout chunk(StateView view, ChunkEntry entry, Set<ServerId> unreachable) {
    return chunk(view, entry, view.fileOffset(entry.spec().file(), entry.index()), unreachable);
  }

  /** Part of a file. */
  public FileLayout file(
      StateView view, FileId file, int fromIndex, int limit, Set<ServerId> unreachable) {
    FileStatus status =
        view.stat(file)
            .orElseThrow(() -> new LeaseFsException(ErrorCode.NOT_FOUND, file + ": no such file"));
    if (status.folder()) {
      throw new LeaseFsException(ErrorCode.IS_A_DIRECTORY, status.path() + ": is a folder");
    }
    FileEntry entry = view.file(file).orElseThrow();
    List<ChunkHandle> handles = entry.chunks();
    int from = Math.max(0, Math.min(fromIndex, handles.size()));
    int to = (int) Math.min(handles.size(), (long) from + Math.max(0, limit));
    List<ChunkLayout> chunks = new ArrayList<>();
    long offset = from < to ? view.fileOffset(file, from) : 0;
    for (ChunkHandle handle : handles.subList(from, to)) {
      ChunkEntry chunk = view.chunk(handle).orElseThrow();
      chunks.add(chunk(view, chunk, offset, unreachable));
      offset += chunk.seal().isPresent() ? chunk.seal().get().lengthBytes() : 0;
    }
    return new FileLayout(file, status, chunks, to == handles.size());
  }

  private ChunkLayout chunk(
      StateView view, ChunkEntry entry, long fileOffset, Set<ServerId> unreachable) {
    List<Location> locations = new ArrayList<>();
    for (Member member : entry.active().members()) {
      Optional<ServerEntry> server = view.server(member.server());
      if (server.isPresent()
          && server.get().session().isPresent()
          && !unreachable.contains(member.server())) {
        locations.add(
            new Location(member, side.apply(server.get().endpoints()), server.get().rack()));
      }
    }
    long token =
        entry.active().primary().isPresent() && entry.lease().isPresent()
            ? entry.lease().get().token()
            : 0;
    return new ChunkLayout(
        entry.spec(), entry.index(), fileOffset, entry.active(), locations, entry.seal(), token);
  }
}
