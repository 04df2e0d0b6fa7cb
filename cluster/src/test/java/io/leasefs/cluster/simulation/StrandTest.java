package io.leasefs.cluster.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tasks that are stopped in the middle, and what goes on meanwhile. */
class StrandTest {
  private static final long MILLI = 1_000_000;

  private final EventLoop loop = new EventLoop(1, null);
  private final long begun = loop.now();
  private final Host host = new Host("cs1", Host.Role.CHUNKSERVER, loop, 0, 0);
  private final Life life = host.begin(this);
  private final Executor session = life.lane(SimulatedWorld.SESSION);
  private final Executor pool = life.pool(SimulatedWorld.CORE);
  private final List<String> told = new ArrayList<>();

  @AfterEach
  void close() {
    loop.close();
  }

  private void pass(long nanos) {
    long limit = loop.now() + nanos;
    while (loop.step(limit)) {
      // until nothing is due any more
    }
  }

  /** Reads its clock, and says after that how old what it has read is. */
  private void readAndAct(String name) {
    long before = loop.now();
    long read = life.nanos();
    assertThat(read).isEqualTo(before - begun);
    told.add(name + " acts after " + (loop.now() - before) / MILLI);
  }

  @Test
  void taskGoesOnWithTheTimeThatItHadRead() {
    host.setAim(new Aim(Point.CLOCK_READ, SimulatedWorld.SESSION, 0, 500 * MILLI));
    session.execute(() -> readAndAct("first"));
    pass(1_000 * MILLI);
    assertThat(told).containsExactly("first acts after 500");
    assertThat(loop.stops()).containsOnlyKeys(Point.CLOCK_READ);
    assertThat(host.aim()).isNull();
  }

  @Test
  void itsExecutorWaitsAndOthersDoNot() {
    host.setAim(new Aim(Point.CLOCK_READ, SimulatedWorld.SESSION, 0, 500 * MILLI));
    session.execute(() -> readAndAct("first"));
    session.execute(() -> told.add("second"));
    pass(100 * MILLI);
    pool.execute(() -> told.add("core"));
    var _ = life.after(0, () -> told.add("timer"));
    pass(1_000 * MILLI);
    assertThat(told).containsExactlyInAnyOrder("core", "timer", "first acts after 500", "second");
    assertThat(told.subList(2, 4)).containsExactly("first acts after 500", "second");
  }

  @Test
  void timersWaitForATimerThatIsStopped() {
    host.setAim(new Aim(Point.CLOCK_READ, Life.TIMER, 0, 500 * MILLI));
    var _ = life.after(MILLI, () -> readAndAct("first"));
    var _ = life.after(100 * MILLI, () -> told.add("second"));
    pass(1_000 * MILLI);
    assertThat(told).containsExactly("first acts after 500", "second");
  }

  @Test
  void pointsBeforeTheOneAimedAtArePassed() {
    host.setAim(new Aim(Point.CLOCK_READ, null, 2, 500 * MILLI));
    session.execute(() -> readAndAct("first"));
    session.execute(() -> readAndAct("second"));
    session.execute(() -> readAndAct("third"));
    pass(1_000 * MILLI);
    assertThat(told)
        .containsExactly("first acts after 0", "second acts after 0", "third acts after 500");
  }

  @Test
  void taskThatHoldsALockIsStoppedOnlyAfterwards() {
    host.setAim(new Aim(Point.CLOCK_READ, null, 0, 500 * MILLI));
    session.execute(
        () -> {
          synchronized (told) {
            readAndAct("locked");
          }
          readAndAct("free");
        });
    pass(1_000 * MILLI);
    assertThat(told).containsExactly("locked acts after 0", "free acts after 500");
  }

  /** What it does then may have been decided before things that have happened meanwhile. */
  @Test
  void taskThatGoesOnIsKnownToHaveBeenStopped() {
    host.setAim(new Aim(Point.CLOCK_READ, null, 0, 500 * MILLI));
    session.execute(
        () -> {
          told.add("before " + loop.hasBeenStopped());
          readAndAct("first");
          told.add("after " + loop.hasBeenStopped());
        });
    session.execute(() -> told.add("next " + loop.hasBeenStopped()));
    pass(1_000 * MILLI);
    assertThat(told)
        .containsExactly("before false", "first acts after 500", "after true", "next false");
  }

  @Test
  void processThatIsKilledMeanwhileDoesNothingMore() {
    host.setAim(new Aim(Point.CLOCK_READ, null, 0, 500 * MILLI));
    List<Throwable> ends = new ArrayList<>();
    session.execute(
        () -> {
          try {
            readAndAct("first");
          } catch (ProcessDied end) {
            ends.add(end);
            throw end;
          }
        });
    pass(100 * MILLI);
    assertThat(host.stopped()).hasSize(1);
    host.end();
    loop.abandon(host);
    assertThat(ends).hasSize(1);
    assertThat(host.stopped()).isEmpty();
    pass(1_000 * MILLI);
    assertThat(told).isEmpty();
    assertThat(loop.violation()).isNull();
  }

  @Test
  void whatIsStoppedOnAFrozenMachineWaitsForThat() {
    host.setAim(new Aim(Point.CLOCK_READ, null, 0, 500 * MILLI));
    session.execute(() -> readAndAct("first"));
    pass(100 * MILLI);
    host.freeze();
    pass(900 * MILLI);
    assertThat(told).isEmpty();
    host.thaw();
    pass(MILLI);
    assertThat(told).hasSize(1);
  }
}
