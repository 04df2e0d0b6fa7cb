package io.leasefs.cluster.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.cluster.simulation.Script.Writer;
import io.leasefs.common.api.ChunkApi.ReadMode;
import org.junit.jupiter.api.Test;

/** I19, step by step: once faults stop nothing waits for ever, and every file can be read. */
class ComesToRestTest {
  private static final long SECOND = Script.SECOND;

  /**
   * A client's session ends while it is cut off; it goes on in a new one, and closes. The opening
   * in the new session has another number: closed by the old one, the file would stay open for as
   * long as the process lives, and its chunk would never be sealed.
   */
  @Test
  void fileThatWasOpenedAnewInANewSessionIsClosed() {
    try (Script script = new Script(3, 3)) {
      Writer writer = script.writer(1);
      writer.appendAndWait(SECOND);
      script.cut(writer.life.host(), script.world.masterHost());
      script.pass(20 * SECOND);
      script.heal();
      script.pass(SECOND);
      writer.appendAndWait(20 * SECOND);

      writer.close();

      assertThat(openings(script)).isZero();
      script.until(3 * SECOND, "a seal", () -> script.chunk().seal().isPresent());
      script.atRest();
    }
  }

  private static int openings(Script script) {
    return script
        .world
        .state()
        .read(view -> view.file(script.chunk().spec().file()))
        .orElseThrow()
        .openings()
        .size();
  }

  /** Nobody writes for more than a minute, so the primary has given its lease back. */
  @Test
  void openFileThatNobodyHasUsedForLongIsRead() {
    try (Script script = new Script(4, 3)) {
      Writer writer = script.writer(1);
      writer.appendAndWait(SECOND);
      script.pass(65 * SECOND);
      assertThat(script.chunk().lease()).isEmpty();

      script.readWhole(Script.FILE, ReadMode.DEFAULT, true);

      assertThat(script.chunk().lease()).isPresent();
      script.atRest();
    }
  }
}
