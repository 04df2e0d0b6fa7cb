package io.leasefs.client.fake;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.Location;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Layouts of one file whose chunks lie on servers cs1, cs2, cs3 ... */
public final class Layouts {
  public static final FileId FILE = new FileId(7);
  public static final FilePath PATH = FilePath.parse("/file");

  private Layouts() {}

  public static ServerAddress address(int server) {
    return new ServerAddress("cs" + server, 9100);
  }

  public static ServerId server(int server) {
    return new ServerId("cs" + server);
  }

  private static Member member(int server) {
    return new Member(server(server), new DiskId("disk" + server), new ReplicaId(server));
  }

  /**
   * A chunk.
   *
   * @param primary number of a server, 0 = none
   * @param members numbers of servers, all of which can be reached
   */
  public static ChunkLayout chunk(
      int index,
      long fileOffset,
      long capacity,
      long version,
      int primary,
      List<Integer> members,
      Optional<ChunkSeal> seal) {
    List<Member> all = new ArrayList<>();
    List<Location> locations = new ArrayList<>();
    for (int server : members) {
      all.add(member(server));
      locations.add(new Location(member(server), address(server), "rack"));
    }
    return new ChunkLayout(
        new ChunkSpec(new ChunkHandle(100 + index), FILE, capacity, Durability.REPLICATED),
        index,
        fileOffset,
        new Configuration(
            version, primary == 0 ? Optional.empty() : Optional.of(server(primary)), all, 0),
        locations,
        seal,
        primary == 0 ? 0 : 1);
  }

  /** A file's status. */
  public static FileStatus status(long length, int writers, int chunks) {
    return new FileStatus(
        PATH,
        FILE,
        false,
        length,
        3,
        64L << 20,
        Durability.REPLICATED,
        0644,
        0,
        0,
        writers,
        chunks);
  }
}
