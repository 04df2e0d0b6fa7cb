package io.leasefs.chunkserver.replica;

import io.leasefs.chunkserver.replica.ReplicaImage.Result;
import io.leasefs.chunkserver.replica.ReplicaImage.SealPoint;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.FrameAnswer.Refused;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.ChunkSpec;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What is asked of a frame by itself, and what a sealed chunk answers to one without a primary. */
final class FrameChecks {
  private FrameChecks() {}

  /** What is wrong with the frame, whatever the state; null where nothing is. */
  static @Nullable String flawOf(ChunkSpec spec, Frame frame) {
    if (!frame.file().equals(spec.file())) {
      return "chunk " + frame.chunk() + " does not belong to file " + frame.file();
    }
    if (frame.session().value() == 0 || frame.sequence() < 1) {
      return "a frame needs a session and a sequence from 1";
    }
    if (frame.floor() > frame.sequence()
        || frame.sequence() >= frame.floor() + Frame.WINDOW
        || frame.payload().remaining() > Frame.MAX_PAYLOAD) {
      return "sequence " + frame.sequence() + " or payload outside the window";
    }
    return switch (frame.kind()) {
      case WRITE, APPEND, TRUNCATE, SEAL -> null;
      case ABORT -> frame.offset() < frame.floor() ? "abort below the floor" : null;
      case DEAD, FORGET, VERSION_START -> "not a client's mutation: " + frame.kind();
    };
  }

  /** Is this the frame that has this result, come again. */
  static boolean sameFrame(Result known, Frame frame) {
    int length = frame.payload().remaining();
    return known.kind() == frame.kind()
        && known.payloadBytes() == length
        && known.payloadChecksum() == frame.checksums().combined(length, Frame.PIECE);
  }

  /** The sequence that the frame asks about: an ABORT's is the one that it aborts. */
  static long sequenceOf(Frame frame) {
    return frame.kind() == MutationKind.ABORT ? frame.offset() : frame.sequence();
  }

  /**
   * What a sealed chunk says to a frame at any member: its table never changes again, so it needs
   * neither primary nor lease. The seal is committed and its checksum known.
   */
  static FrameAnswer answerSealed(ChunkLog log, ChunkSpec spec, Frame frame, SealPoint seal) {
    if (frame.token() < log.fence()) {
      return new Refused(ErrorCode.FENCED, "a newer token is in force: " + log.fence());
    }
    DedupTable table = log.table();
    if (table.forgotten(frame.session())) {
      return new Refused(ErrorCode.OUTCOME_UNKNOWN, "the session is forgotten");
    }
    String flaw = flawOf(spec, frame);
    if (flaw != null) {
      return new Refused(ErrorCode.INVALID_ARGUMENT, flaw);
    }
    boolean abort = frame.kind() == MutationKind.ABORT;
    Result known = table.find(frame.session(), sequenceOf(frame));
    if (known != null) {
      return !abort && known.applied() && !sameFrame(known, frame)
          ? new Refused(
              ErrorCode.INVALID_ARGUMENT, "sequence " + frame.sequence() + " was another mutation")
          : Waiters.answerOf(known, seal).orElseThrow();
    }
    if (sequenceOf(frame) < table.floor(frame.session())) {
      return new FrameAnswer.Expired();
    }
    Optional<FrameAnswer> full =
        seal.seal().map(whole -> new FrameAnswer.ChunkFull(log.version(), whole));
    return abort ? new FrameAnswer.NotApplied() : full.orElseThrow();
  }
}
