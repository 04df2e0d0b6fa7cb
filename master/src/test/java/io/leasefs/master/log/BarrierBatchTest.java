package io.leasefs.master.log;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.master.log.OperationLog.Committed;
import io.leasefs.master.log.OperationResult.Applied;
import io.leasefs.master.log.OperationResult.Done;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class BarrierBatchTest {
  private final List<CompletableFuture<Committed>> appended = new ArrayList<>();
  private final BarrierBatch barriers =
      new BarrierBatch(
          () -> {
            CompletableFuture<Committed> entry = new CompletableFuture<>();
            appended.add(entry);
            return entry;
          });

  private void commit(int which) {
    appended.get(which).complete(new Committed(which + 1, 1, new Applied(Done.DONE)));
  }

  @Test
  void oneInFlightAndTheNextTakesAllThatArrivedMeanwhile() {
    CompletableFuture<Committed> first = barriers.barrier();
    CompletableFuture<Committed> second = barriers.barrier();
    CompletableFuture<Committed> third = barriers.barrier();
    assertThat(appended).hasSize(1);
    commit(0);
    assertThat(first).isCompletedWithValueMatching(c -> c.ordinal() == 1);
    assertThat(second).isNotDone();
    assertThat(appended).hasSize(2);
    commit(1);
    assertThat(second).isCompletedWithValueMatching(c -> c.ordinal() == 2);
    assertThat(third).isCompletedWithValueMatching(c -> c.ordinal() == 2);
    assertThat(appended).hasSize(2);
  }

  @Test
  void whoAsksFromWithinAnAnswerIsServedByALaterEntry() {
    CompletableFuture<Committed> inner = new CompletableFuture<>();
    var _ =
        barriers
            .barrier()
            .whenComplete(
                (c, e) -> {
                  var _ = barriers.barrier().thenAccept(inner::complete);
                });
    commit(0);
    assertThat(appended).hasSize(2);
    commit(1);
    assertThat(inner).isCompletedWithValueMatching(c -> c.ordinal() == 2);
  }

  @Test
  void aFailureIsToldAndTheNextIsStillSent() {
    CompletableFuture<Committed> first = barriers.barrier();
    CompletableFuture<Committed> second = barriers.barrier();
    appended.get(0).completeExceptionally(new IllegalStateException("lost"));
    assertThat(first).isCompletedExceptionally();
    commit(1);
    assertThat(second).isCompleted();
    assertThat(barriers.barrier()).isNotDone();
    assertThat(appended).hasSize(3);
  }
}
