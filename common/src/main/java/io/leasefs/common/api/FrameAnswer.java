package io.leasefs.common.api;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.ChunkSeal;
import java.util.Optional;

/**
 * The answer to a frame. Definite, for ever: {@link Applied}, {@link NotApplied}, {@link
 * ChunkFull}. Everything else says only that nothing is known yet or that the frame must be sent
 * again, the same.
 */
public sealed interface FrameAnswer {
  /** It is in the chunk at every member; seal is set where a SEAL rode on it or it was a SEAL. */
  record Applied(long offset, long version, long serial, Optional<ChunkSeal> seal)
      implements FrameAnswer {}

  /** It is not in the chunk and never will be. */
  record NotApplied() implements FrameAnswer {}

  /** Not applied: the chunk is sealed, committed. The file goes on in the next chunk. */
  record ChunkFull(long version, ChunkSeal seal) implements FrameAnswer {}

  /** Nothing done: the sequence named by {@code after} is not here. */
  record OutOfOrder() implements FrameAnswer {}

  /** Nothing done: the sequence lies below the floor; not a definite answer. */
  record Expired() implements FrameAnswer {}

  /**
   * Nothing known: NOT_PRIMARY or STALE_VERSION (fetch the layout), FENCED, INVALID_ARGUMENT,
   * CORRUPT (payload does not match its checksum), NO_SPACE, BUSY, UNKNOWN_SESSION.
   */
  record Refused(ErrorCode code, String message) implements FrameAnswer {}
}
