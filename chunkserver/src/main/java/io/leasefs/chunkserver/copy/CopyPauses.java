package io.leasefs.chunkserver.copy;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ReplicaId;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How long a copy that failed is left alone: the master repeats its order all the time, and most
 * reasons to fail last. Each failure in a row doubles the pause. Pure; guarded by whoever owns it.
 */
final class CopyPauses {
  static final long FIRST_NANOS = 100_000_000L;
  static final long LONGEST_NANOS = 10_000_000_000L;

  /** Failures that are remembered; past it the oldest is forgotten, and its copy tried at once. */
  static final int MOST = 1_024;

  private record Pause(ReplicaId learner, long nanos, long until) {}

  private final Map<ChunkHandle, Pause> pauses = new LinkedHashMap<>();

  /** True where this copy may be tried now. Another copy of the same chunk always may. */
  boolean mayBegin(ChunkHandle chunk, ReplicaId learner, long now) {
    Pause pause = pauses.get(chunk);
    return pause == null || !pause.learner.equals(learner) || now - pause.until >= 0;
  }

  /** The copy has failed; answers how long it is left alone, nanoseconds. */
  long failed(ChunkHandle chunk, ReplicaId learner, long now) {
    @Nullable Pause before = pauses.remove(chunk);
    long nanos =
        before != null && before.learner.equals(learner)
            ? Math.min(LONGEST_NANOS, 2 * before.nanos)
            : FIRST_NANOS;
    pauses.put(chunk, new Pause(learner, nanos, now + nanos));
    if (pauses.size() > MOST) {
      pauses.remove(pauses.keySet().iterator().next());
    }
    return nanos;
  }

  /** The copy is here. */
  void done(ChunkHandle chunk) {
    pauses.remove(chunk);
  }
}
