package io.leasefs.cluster.simulation;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.cluster.simulation.RawFile.Op;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.SessionId;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class RawFileTest {
  private static final SessionId SESSION = new SessionId(7);

  private final EventLoop loop = new EventLoop(1, null);
  private final RawFile file = new RawFile(loop, FilePath.parse("/raw"));
  private final ChunkLayout chunk =
      new ChunkLayout(
          new ChunkSpec(new ChunkHandle(3), new FileId(2), 1 << 20, Durability.REPLICATED),
          0,
          0,
          new Configuration(1, Optional.empty(), List.of(), 0),
          List.of(),
          Optional.empty(),
          0);
  private long sequence = 1;

  private Op submit(MutationKind kind, long offset, int length) {
    Op op = file.submit(kind, chunk, SESSION, sequence++, offset, length, false);
    var _ = op.frame(file, chunk, 1, 0, Optional.empty());
    return op;
  }

  private static ByteBuffer bytes(RawFile file, Op op, ChunkLayout chunk) {
    return op.frame(file, chunk, 1, 0, Optional.empty()).payload();
  }

  private ByteBuffer bytes(Op op) {
    return bytes(file, op, chunk);
  }

  private void applied(Op op, long offset, long serial) {
    file.applied(op, new FrameAnswer.Applied(offset, 1, serial, Optional.empty()));
  }

  private void assertBreaks(String invariant) {
    assertThat(requireNonNull(loop.violation()).invariant()).isEqualTo(invariant);
  }

  private void read(ByteBuffer content) {
    file.saw(file.look("a test"), 0, content);
  }

  private static ByteBuffer over(ByteBuffer below, int at, ByteBuffer above) {
    ByteBuffer content = ByteBuffer.allocate(below.remaining());
    content.put(below.duplicate()).put(at, above, 0, above.remaining());
    return content.flip();
  }

  @Test
  void contentInTheOrderOfSerialsPasses() {
    Op append = submit(MutationKind.APPEND, 0, 100);
    Op write = submit(MutationKind.WRITE, 20, 30);
    applied(write, 20, 2);
    applied(append, 0, 1);
    ByteBuffer content = over(bytes(append), 20, bytes(write));

    read(content);
    file.check(content);

    assertThat(loop.violation()).isNull();
  }

  @Test
  void overwrittenBytesAreTooOldOnceTheOverwriteIsTold() {
    Op append = submit(MutationKind.APPEND, 0, 100);
    applied(append, 0, 1);
    Op write = submit(MutationKind.WRITE, 20, 30);
    RawFile.Look before = file.look("a test");
    applied(write, 20, 2);

    file.saw(before, 0, bytes(append));
    assertThat(loop.violation()).isNull();
    read(bytes(append));

    assertBreaks("I8");
  }

  @Test
  void bytesOfWhatIsNotAppliedAreNeverThere() {
    Op append = submit(MutationKind.APPEND, 0, 100);
    Op write = submit(MutationKind.WRITE, 20, 30);
    applied(append, 0, 1);
    file.absent(write);

    read(over(bytes(append), 20, bytes(write)));

    assertBreaks("I9");
  }

  @Test
  void whatWasReadIsNotToldToBeAbsent() {
    Op append = submit(MutationKind.APPEND, 0, 100);
    read(bytes(append));
    assertThat(loop.violation()).isNull();

    file.absent(append);

    assertBreaks("I9");
  }

  @Test
  void appendThatWasReadIsNotToldToBeElsewhere() {
    Op append = submit(MutationKind.APPEND, 0, 100);
    read(bytes(append));

    applied(append, 50, 1);

    assertBreaks("I5");
  }

  @Test
  void bytesThatNobodyWroteAreFound() {
    applied(submit(MutationKind.APPEND, 0, 100), 0, 1);

    read(ByteBuffer.allocate(100));

    assertBreaks("I5");
  }

  /** Of a few bytes nobody knows where they belong, but what follows is found all the same. */
  @Test
  void shortAppendWithoutAnAnswerMayBeThere() {
    Op few = submit(MutationKind.APPEND, 0, 3);
    Op more = submit(MutationKind.APPEND, 0, 50);
    ByteBuffer content = ByteBuffer.allocate(53).put(bytes(few)).put(bytes(more)).flip();

    read(content);
    assertThat(loop.violation()).isNull();
    applied(more, 0, 2);

    assertBreaks("I5");
  }

  @Test
  void truncatedBytesDoNotComeBack() {
    Op append = submit(MutationKind.APPEND, 0, 100);
    applied(append, 0, 1);
    applied(submit(MutationKind.TRUNCATE, 40, 0), 40, 2);

    read(bytes(append));

    assertBreaks("I8");
  }

  @Test
  void lengthIsThatOfTheOrder() {
    Op append = submit(MutationKind.APPEND, 0, 100);
    applied(append, 0, 1);
    applied(submit(MutationKind.TRUNCATE, 40, 0), 40, 2);

    file.check(bytes(append).limit(39));

    assertBreaks("I6");
  }

  @Test
  void answersAreForEver() {
    Op append = submit(MutationKind.APPEND, 0, 100);
    applied(append, 0, 1);
    applied(append, 0, 1);
    assertThat(loop.violation()).isNull();

    file.absent(append);

    assertBreaks("I9");
  }

  @Test
  void whatWasSubmittedLaterComesLater() {
    applied(submit(MutationKind.APPEND, 0, 100), 0, 5);

    applied(submit(MutationKind.WRITE, 10, 20), 10, 4);

    assertBreaks("I8");
  }
}
