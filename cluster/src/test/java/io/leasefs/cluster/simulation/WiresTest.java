package io.leasefs.cluster.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.model.ServerAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The simulated network. */
class WiresTest {
  private static final long MILLI = 1_000_000;
  private static final int CALLS = 20;

  /** What the one host offers. */
  private record Desk(List<Integer> taken) {}

  private final EventLoop loop = new EventLoop(1, null);
  private final Wires wires = new Wires(loop, MILLI / 10);
  private final Host near = new Host("c1", Host.Role.CLIENT, loop, 0, 0);
  private final Host far = new Host("cs1", Host.Role.CHUNKSERVER, loop, 0, 0);
  private final Life caller = near.begin(this);
  private final Desk desk = new Desk(new ArrayList<>());

  @BeforeEach
  void begin() {
    wires.add(near);
    wires.add(far);
    far.begin(this).offer(desk);
  }

  private void pass(long nanos) {
    long limit = loop.now() + nanos;
    while (loop.step(limit)) {
      // until nothing is due any more
    }
  }

  private void call(int number) {
    var _ =
        wires.call(
            caller,
            new ServerAddress("cs1", 1),
            Desk.class,
            "call",
            10_000 * MILLI,
            (Desk asked) -> {
              asked.taken().add(number);
              return CompletableFuture.completedFuture(number);
            });
    pass(100 * MILLI);
  }

  private List<Integer> afterClog(boolean shuffled) {
    wires.clog(near, far);
    IntStream.range(0, CALLS).forEach(this::call);
    assertThat(desk.taken()).isEmpty();
    wires.unclog(near, far, shuffled);
    pass(MILLI);
    return desk.taken();
  }

  @Test
  void cloggedWayLetsEverythingGoAtOnceInOrder() {
    assertThat(afterClog(false)).isEqualTo(IntStream.range(0, CALLS).boxed().toList());
  }

  @Test
  void cloggedWayMayLetGoInAnyOrder() {
    List<Integer> sent = IntStream.range(0, CALLS).boxed().toList();
    assertThat(afterClog(true)).containsExactlyInAnyOrderElementsOf(sent).isNotEqualTo(sent);
  }

  @Test
  void otherDirectionIsOpen() {
    wires.clog(far, near);
    call(1);
    assertThat(desk.taken()).containsExactly(1);
  }

  @Test
  void healingLetsGo() {
    wires.clog(near, far);
    call(1);
    wires.mendAll();
    pass(MILLI);
    assertThat(desk.taken()).containsExactly(1);
  }
}
