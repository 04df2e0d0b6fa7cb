package io.leasefs.chunkserver.replica;

import io.leasefs.chunkserver.replica.ReplicaImage.Result;
import io.leasefs.chunkserver.replica.ReplicaImage.SealPoint;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.ChunkSeal;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Frames that wait for a serial to commit, and what they are answered then: the result of their
 * sequence, or that the chunk is full, or that they are not applied.
 */
final class Waiters {
  private final Consumer<ReplicaAction> out;
  private final TreeMap<Long, List<Waiter>> bySerial = new TreeMap<>();

  /** Committed, but their answer names a seal whose checksum is not known yet. */
  private final List<Waiter> forChecksum = new ArrayList<>();

  /** What a frame waits for. */
  private sealed interface Waiter {
    long ticket();
  }

  private record ForResult(long ticket, Result result) implements Waiter {}

  private record ForFull(long ticket, long version) implements Waiter {}

  private record ForNotApplied(long ticket) implements Waiter {}

  Waiters(Consumer<ReplicaAction> out) {
    this.out = out;
  }

  /** The answer is this result, once its serial is committed. */
  void forResult(long ticket, Result result) {
    add(result.serial(), new ForResult(ticket, result));
  }

  /** The answer is that the chunk is full, once the seal with this serial is committed. */
  void forFull(long ticket, long version, long sealSerial) {
    add(sealSerial, new ForFull(ticket, version));
  }

  /** The answer is that it is not applied, once this serial is committed. */
  void forNotApplied(long ticket, long serial) {
    add(serial, new ForNotApplied(ticket));
  }

  private void add(long serial, Waiter waiter) {
    bySerial.computeIfAbsent(serial, s -> new ArrayList<>(1)).add(waiter);
  }

  /** Everything up to this serial is committed. True where anybody was answered. */
  boolean committed(long serial, @Nullable SealPoint seal) {
    boolean any = false;
    while (!bySerial.isEmpty() && bySerial.firstKey() <= serial) {
      for (Waiter waiter : bySerial.pollFirstEntry().getValue()) {
        any |= settle(waiter, seal);
      }
    }
    return any;
  }

  /** The checksum of the seal is known. */
  void sealed(SealPoint seal) {
    List<Waiter> ready = List.copyOf(forChecksum);
    forChecksum.clear();
    ready.forEach(waiter -> settle(waiter, seal));
  }

  private boolean settle(Waiter waiter, @Nullable SealPoint seal) {
    Optional<FrameAnswer> answer =
        switch (waiter) {
          case ForResult(long ticket, Result result) -> answerOf(result, seal);
          case ForFull(long ticket, long version) -> full(version, seal);
          case ForNotApplied(long ticket) -> Optional.of(new FrameAnswer.NotApplied());
        };
    if (answer.isEmpty()) {
      forChecksum.add(waiter);
      return false;
    }
    out.accept(new ReplicaAction.Answer(waiter.ticket(), answer.get()));
    return true;
  }

  /** The definite answer of a committed result; empty while its seal's checksum is not known. */
  static Optional<FrameAnswer> answerOf(Result result, @Nullable SealPoint seal) {
    if (!result.applied()) {
      return Optional.of(new FrameAnswer.NotApplied());
    }
    if (!result.seals() || seal == null || seal.serial() != result.serial()) {
      return Optional.of(applied(result, Optional.empty()));
    }
    return seal.seal().map(known -> applied(result, Optional.of(known)));
  }

  private static FrameAnswer applied(Result result, Optional<ChunkSeal> seal) {
    return new FrameAnswer.Applied(result.offset(), result.version(), result.serial(), seal);
  }

  private static Optional<FrameAnswer> full(long version, @Nullable SealPoint seal) {
    return seal == null // reopened at once: the frame may still be applied
        ? Optional.of(new FrameAnswer.Refused(ErrorCode.STALE_VERSION, "the chunk was reopened"))
        : seal.seal().map(known -> new FrameAnswer.ChunkFull(version, known));
  }

  /** Refuses whoever waits for a serial above this one, which has been cut. */
  void refuseAbove(long serial, ErrorCode code, String message) {
    Map<Long, List<Waiter>> gone = bySerial.tailMap(serial, false);
    gone.values().forEach(list -> list.forEach(w -> refuse(w, code, message)));
    gone.clear();
  }

  private void refuse(Waiter waiter, ErrorCode code, String message) {
    out.accept(new ReplicaAction.Answer(waiter.ticket(), new FrameAnswer.Refused(code, message)));
  }

  /** Nobody wants this answer any more. */
  void drop(long ticket) {
    forChecksum.removeIf(w -> w.ticket() == ticket);
    Iterator<List<Waiter>> lists = bySerial.values().iterator();
    while (lists.hasNext()) {
      List<Waiter> list = lists.next();
      if (list.removeIf(w -> w.ticket() == ticket) && list.isEmpty()) {
        lists.remove();
      }
    }
  }

  boolean isEmpty() {
    return bySerial.isEmpty();
  }
}
