package io.leasefs.cluster.demo;

import static java.util.Objects.requireNonNull;

import io.leasefs.common.model.ClusterEvent;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Everything that a verdict needs, from both servers' own records and the clients'. All times are
 * CLOCK_MONOTONIC of the one machine, nanoseconds.
 *
 * @param facts what was done, under which terms
 * @param acknowledged records that a client was told are safe
 * @param refused records of which a client knows that they are not in the file
 * @param found records read back, in the order of the file
 * @param copies every replica of every chunk of the files, read from its disk
 * @param events of all servers
 */
public record Evidence(
    Facts facts,
    List<Acknowledged> acknowledged,
    List<Refused> refused,
    List<Found> found,
    List<Copy> copies,
    List<ClusterEvent> events) {
  /** The file whose appends may go on in a new chunk when the primary falls silent. */
  public static final String APPENDS = "/demo/appends";

  /** The file whose appends stay in their chunk and wait for its next primary. */
  public static final String STAYING = "/demo/staying";

  /**
   * What was done.
   *
   * @param demo failover, pause, partition, drain or secondary
   * @param chunk whose primary was hit, or whose member
   * @param victim the server that was hit
   * @param hitAtNanos when
   * @param ttlNanos T
   * @param heartbeatNanos h
   * @param grantorNanos T_G
   * @param gapLimitNanos longest time without an acknowledgement in the chunk, for people: the
   *     verdict has {@link Bounds} of its own
   * @param appendGapLimitNanos longest time without an acknowledged append in the other file
   * @param newPrimary true where another primary of this chunk is expected
   */
  public record Facts(
      String demo,
      String chunk,
      String victim,
      long hitAtNanos,
      long ttlNanos,
      long heartbeatNanos,
      long grantorNanos,
      long gapLimitNanos,
      long appendGapLimitNanos,
      boolean newPrimary) {
    public Facts {
      requireNonNull(demo, "demo");
      requireNonNull(chunk, "chunk");
      requireNonNull(victim, "victim");
      if (hitAtNanos <= 0) {
        throw new IllegalArgumentException("hitAtNanos is " + hitAtNanos);
      }
    }
  }

  /**
   * A record that a client was told is safe.
   *
   * @param file which of the demo's files
   * @param client 0, 1, 2 ...
   * @param number 1, 2, 3 ... per client; each is sent when the one before it is answered
   * @param submittedNanos when it was sent for the first time
   * @param offset its first byte in the file
   * @param chunk that holds it
   * @param version under which it was acknowledged
   * @param serial its place in the chunk's order
   * @param atNanos when the client was told
   */
  public record Acknowledged(
      String file,
      int client,
      long number,
      long submittedNanos,
      long offset,
      String chunk,
      long version,
      long serial,
      long atNanos) {
    public Acknowledged {
      requireNonNull(file, "file");
      requireNonNull(chunk, "chunk");
    }
  }

  /** A record of which its client never learnt what became of it. */
  public record Unanswered(String file, int client, long number, long submittedNanos) {
    public Unanswered {
      requireNonNull(file, "file");
    }
  }

  /** A record that was definitely not applied. */
  public record Refused(String file, int client, long number) {
    public Refused {
      requireNonNull(file, "file");
    }
  }

  /** A record found in a file. */
  public record Found(String file, int client, long number, long offset) {
    public Found {
      requireNonNull(file, "file");
    }
  }

  /** One replica as found on its disk after the end. */
  public record Copy(String chunk, String server, long lengthBytes, String checksum) {
    public Copy {
      requireNonNull(chunk, "chunk");
      requireNonNull(server, "server");
      requireNonNull(checksum, "checksum");
    }
  }

  public Evidence {
    acknowledged = List.copyOf(acknowledged);
    refused = List.copyOf(refused);
    found = List.copyOf(found);
    copies = List.copyOf(copies);
    List<ClusterEvent> sorted = new ArrayList<>(events);
    sorted.sort(
        Comparator.comparingLong(ClusterEvent::monotonicNanos)
            .thenComparing(ClusterEvent::recorder)
            .thenComparingLong(ClusterEvent::number));
    events = List.copyOf(sorted);
  }
}
