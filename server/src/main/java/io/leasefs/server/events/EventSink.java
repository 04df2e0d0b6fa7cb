package io.leasefs.server.events;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.ServerId;
import java.util.Map;
import java.util.Optional;

/** Where a server's rules say what happened. Any thread; never blocks. */
@FunctionalInterface
public interface EventSink {
  /**
   * Something happened, now.
   *
   * @param subject the server it happened to, where there is one
   * @param chunk the chunk concerned, where there is one
   * @param version of the chunk; 0 where it does not apply
   * @param fields more, by name; durations end in Nanos or Millis
   */
  void record(
      EventKind kind,
      Optional<ServerId> subject,
      Optional<ChunkHandle> chunk,
      long version,
      Map<String, String> fields);
}
