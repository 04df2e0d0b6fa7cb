package io.leasefs.master.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.model.Ordinal;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.OperationResult;
import io.leasefs.master.log.RandomOperations;
import io.leasefs.master.replicated.Checkpoint;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RandomStateTest {
  private static final int STEPS = 1500;
  private static final long TERM = 3;

  private record Run(MetadataState state, List<Operation> done, List<OperationResult> results) {}

  private static OperationResult apply(MetadataState state, int step, Operation operation) {
    return state.apply(Ordinal.of(state.generation(), step + 1), TERM, operation);
  }

  private static byte[] bytes(MetadataState state) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    Checkpoint.write(state, out);
    return out.toByteArray();
  }

  private static Run run(int seed) {
    MetadataState state = new MetadataState();
    RandomOperations random = new RandomOperations(new Random(seed), state);
    Run run = new Run(state, new ArrayList<>(), new ArrayList<>());
    for (int step = 0; step < STEPS; step++) {
      Operation operation = random.next();
      OperationResult result;
      try {
        result = apply(state, step, operation);
        state.invariant();
      } catch (RuntimeException e) {
        throw new AssertionError("seed " + seed + " step " + step + ": " + operation, e);
      }
      run.done.add(operation);
      run.results.add(result);
    }
    return run;
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
  void replayAndCheckpointGiveTheSameStateAndResults(int seed) throws IOException {
    Run run = run(seed);
    MetadataState replayed = new MetadataState();
    Random random = new Random(seed);
    for (int step = 0; step < STEPS; step++) {
      if (random.nextInt(100) == 0) {
        byte[] before = bytes(replayed);
        replayed = Checkpoint.read(new ByteArrayInputStream(before));
        replayed.invariant();
        assertThat(bytes(replayed)).isEqualTo(before);
      }
      assertThat(apply(replayed, step, run.done.get(step)))
          .as("step %d", step)
          .isEqualTo(run.results.get(step));
    }
    assertThat(bytes(replayed)).isEqualTo(bytes(run.state));
  }

  @Test
  void theseRunsApplyEveryKindOfOperation() {
    Set<String> applied = new TreeSet<>();
    for (int seed = 1; seed <= 16; seed++) {
      Run run = run(seed);
      for (int step = 0; step < STEPS; step++) {
        if (run.results.get(step).isApplied()) {
          applied.add(run.done.get(step).getClass().getSimpleName());
        }
      }
    }
    Set<String> all = new TreeSet<>();
    for (Class<?> kind : Operation.class.getPermittedSubclasses()) {
      all.add(kind.getSimpleName());
    }
    assertThat(applied).isEqualTo(all);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void aRejectionChangesNothingButSessionsAndHistory(int seed) throws IOException {
    MetadataState state = new MetadataState();
    RandomOperations random = new RandomOperations(new Random(seed), state);
    for (int step = 0; step < STEPS; step++) {
      Operation operation = random.next();
      byte[] before = treeAndChunks(state);
      if (!apply(state, step, operation).isApplied()) {
        assertThat(treeAndChunks(state)).as("%s", operation).isEqualTo(before);
      }
    }
  }

  private static byte[] treeAndChunks(MetadataState state) {
    StringBuilder text = new StringBuilder();
    state.writeTreeAndChunks(
        new StateSink() {
          @Override
          public void number(long value) {
            text.append(value).append(' ');
          }

          @Override
          public void bytes(byte[] value) {
            text.append(new String(value, java.nio.charset.StandardCharsets.UTF_8)).append(' ');
          }
        });
    return text.toString().getBytes(java.nio.charset.StandardCharsets.UTF_8);
  }
}
