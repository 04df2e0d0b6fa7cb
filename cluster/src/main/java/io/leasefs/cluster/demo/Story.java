package io.leasefs.cluster.demo;

import io.leasefs.client.LeaseFs;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.BiConsumer;

/**
 * Tells what happens as it happens: the demo's own steps, and the master's events of the chunk.
 * Lines come from two threads, one at a time.
 */
final class Story implements AutoCloseable {
  private static final Set<EventKind> TOLD =
      Set.of(
          EventKind.SERVER_SILENT,
          EventKind.SESSION_ENDED,
          EventKind.LEASE_GRANTED,
          EventKind.LEASE_RELEASED,
          EventKind.LEASE_REVOKED,
          EventKind.LEASE_EXPIRED,
          EventKind.CHANGE_BEGUN,
          EventKind.CHANGE_RECOVERING,
          EventKind.CHANGE_ACTIVATED,
          EventKind.CHUNK_SEALED,
          EventKind.CHUNK_UNAVAILABLE);

  private final long beganNanos;
  private final BiConsumer<Double, String> lines;
  private final Thread follower;
  private volatile boolean ended;

  /** {@code lines} gets seconds since the beginning and the line. */
  Story(LeaseFs client, Set<String> chunks, long beganNanos, BiConsumer<Double, String> lines) {
    this.beganNanos = beganNanos;
    this.lines = lines;
    this.follower = new Thread(() -> follow(client, chunks), "story");
    follower.setDaemon(true);
    follower.start();
  }

  synchronized void tell(String line) {
    lines.accept((System.nanoTime() - beganNanos) / 1e9, line);
  }

  private void follow(LeaseFs client, Set<String> chunks) {
    long after = 0;
    boolean first = true;
    while (!ended) {
      try {
        List<ClusterEvent> page =
            LeaseFs.join(client.admin().events(after, 1000, first ? 0 : 500_000_000L));
        for (ClusterEvent event : page) {
          after = Math.max(after, event.number());
          if (!first && !ended && isTold(event, chunks)) {
            tell(line(event));
          }
        }
        first &= !page.isEmpty();
      } catch (LeaseFsException e) {
        return; // the demo itself tells what is wrong
      }
    }
  }

  private static boolean isTold(ClusterEvent event, Set<String> chunks) {
    return TOLD.contains(event.kind())
        && (event.chunk().isEmpty()
            || event.chunk().filter(c -> chunks.contains(c.toString())).isPresent());
  }

  private static String line(ClusterEvent event) {
    StringBuilder text =
        new StringBuilder("  master: ")
            .append(event.kind().name().toLowerCase(Locale.ROOT).replace('_', ' '));
    event.subject().ifPresent(subject -> text.append(' ').append(subject));
    event.chunk().ifPresent(chunk -> text.append("  chunk ").append(chunk));
    if (event.version() != 0) {
      text.append(" version ").append(event.version());
    }
    event.fields().forEach((key, value) -> text.append("  ").append(field(key, value)));
    return text.toString();
  }

  /** Times are for people here. */
  private static String field(String key, String value) {
    boolean nanos = key.endsWith("Nanos") && value.matches("[0-9]{1,18}");
    return nanos
        ? key.substring(0, key.length() - "Nanos".length())
            + '='
            + Long.parseLong(value) / 1_000_000
            + "ms"
        : key + '=' + value;
  }

  @Override
  public void close() {
    ended = true;
  }
}
