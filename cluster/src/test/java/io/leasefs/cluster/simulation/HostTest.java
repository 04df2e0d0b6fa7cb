package io.leasefs.cluster.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The clocks of a simulated machine. */
class HostTest {
  private static final long MILLI = 1_000_000;

  private final EventLoop loop = new EventLoop(1, null);
  private final Host server = new Host("cs1", Host.Role.CHUNKSERVER, loop, 7, 0);
  private final Host master = new Host("m1", Host.Role.MASTER, loop, 8, 0);
  private final Host client = new Host("c1", Host.Role.CLIENT, loop, 9, 0);
  private final List<Host> hosts = List.of(server, master, client);

  private void pass(long nanos) {
    long limit = loop.now() + nanos;
    while (loop.step(limit)) {
      // until nothing is due any more
    }
  }

  @Test
  void suspensionIsTimeForHoldersAndNoneForGrantorsAndClients() {
    List<Life> lives = hosts.stream().map(host -> host.begin(this)).toList();
    List<Long> before = lives.stream().map(Life::nanos).toList();
    pass(10 * MILLI);
    hosts.forEach(Host::suspend);
    pass(500 * MILLI);
    hosts.forEach(Host::thaw);
    pass(20 * MILLI);
    List<Long> elapsed = new ArrayList<>();
    for (int i = 0; i < lives.size(); i++) {
      elapsed.add((lives.get(i).nanos() - before.get(i)) / MILLI);
    }
    assertThat(elapsed).containsExactly(530L, 30L, 30L);
  }

  @Test
  void timersOfASuspendedMachineWait() {
    List<Long> fired = new ArrayList<>();
    Life life = server.begin(this);
    long begun = loop.now();
    var _ = life.after(100 * MILLI, () -> fired.add((loop.now() - begun) / MILLI));
    pass(60 * MILLI);
    server.suspend();
    pass(500 * MILLI);
    server.thaw();
    pass(30 * MILLI);
    assertThat(fired).isEmpty();
    pass(20 * MILLI);
    assertThat(fired).hasSize(1);
    assertThat(fired.getFirst()).isBetween(600L, 605L);
  }

  @Test
  void frozenMachinesClocksGoOn() {
    Life life = server.begin(this);
    long before = life.nanos();
    server.freeze();
    pass(500 * MILLI);
    assertThat(life.nanos() - before).isEqualTo(500 * MILLI);
  }

  @Test
  void wallClockIsNobodysMeasureOfTime() {
    Life life = server.begin(this);
    long before = life.nanos();
    long wall = life.wallMillis();
    server.setWallStep(-86_400_000);
    assertThat(life.wallMillis()).isEqualTo(wall - 86_400_000);
    assertThat(life.nanos()).isEqualTo(before);
  }
}
