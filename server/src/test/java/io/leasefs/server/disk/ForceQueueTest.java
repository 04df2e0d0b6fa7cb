package io.leasefs.server.disk;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.DiskFile;
import io.leasefs.server.disk.simulated.SimulatedDisk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ForceQueueTest {
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final long[] now = {0};
  private final Clock clock =
      new Clock() {
        @Override
        public long nanos() {
          return now[0];
        }

        @Override
        public long wallMillis() {
          return 0;
        }
      };
  private final SimulatedDisk disk = new SimulatedDisk(7, 1 << 20);
  private final ForceQueue queue = new ForceQueue(tasks::add, clock, 1);
  private final List<String> answers = new ArrayList<>();
  private DiskFile first;
  private DiskFile second;

  @BeforeEach
  void open() throws IOException {
    first = disk.open("first", true);
    second = disk.open("second", true);
    disk.forceFolder("");
  }

  @Test
  void oneForceAnswersAllWhoAskedBeforeItBegan() {
    ask(first, "a");
    ask(first, "b");
    ask(second, "c");
    ask(first, "d");
    runAll();
    assertThat(answers).containsExactly("a ok", "b ok", "d ok", "c ok");
    assertThat(queue.forces()).isEqualTo(2);
  }

  @Test
  void whoAsksWhileAForceRunsGetsTheNextOne() {
    disk.setHook(
        (operation, name) -> {
          if (operation == SimulatedDisk.Operation.FORCE && answers.isEmpty() && tasks.isEmpty()) {
            answers.add("asked");
            ask(first, "late");
          }
        });
    ask(first, "early");
    runAll();
    assertThat(answers).containsExactly("asked", "early ok", "late ok");
    assertThat(queue.forces()).isEqualTo(2);
  }

  @Test
  void whatWasForcedSurvivesAPowerCut() throws IOException {
    first.write(ByteBuffer.wrap(new byte[] {1, 2, 3}), 0);
    ask(first, "a");
    runAll();
    disk.cutPower();
    assertThat(disk.bytes("first")).containsExactly(1, 2, 3);
  }

  @Test
  void aFailureIsToldToAllWhoWaited() {
    disk.failForces("first", 1);
    ask(first, "a");
    ask(first, "b");
    runAll();
    assertThat(answers)
        .containsExactly("a force first: Input/output error", "b force first: Input/output error");
  }

  @Test
  void tellsHowLongTheOldestForceStands() {
    assertThat(queue.stalledNanos()).isZero();
    ask(first, "a");
    now[0] = 5;
    assertThat(queue.stalledNanos()).isEqualTo(5);
    runAll();
    assertThat(queue.stalledNanos()).isZero();
  }

  private void ask(DiskFile file, String name) {
    queue.force(
        file, failure -> answers.add(name + " " + (failure == null ? "ok" : failure.getMessage())));
  }

  private void runAll() {
    while (!tasks.isEmpty()) {
      tasks.remove().run();
    }
  }
}
