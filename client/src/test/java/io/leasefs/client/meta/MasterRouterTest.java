package io.leasefs.client.meta;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.client.edge.ClientEdges;
import io.leasefs.client.fake.FakeMaster;
import io.leasefs.client.fake.FakeNetwork;
import io.leasefs.client.fake.Layouts;
import io.leasefs.client.fake.VirtualTime;
import io.leasefs.client.retry.RetryPolicy;
import io.leasefs.common.api.MasterApi.Greeting;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class MasterRouterTest {
  private static final long SECOND = 1_000_000_000L;

  private final VirtualTime time = new VirtualTime();
  private final FakeNetwork network = new FakeNetwork();
  private final List<String> asked = new ArrayList<>();
  private final List<RequestId> ids = new ArrayList<>();
  private int greetings;
  private long forgetting = 7;
  private final Answering first = new Answering("m1");
  private final Answering second = new Answering("m2");
  private final MasterRouter router =
      new MasterRouter(
          List.of(new ServerAddress("m1", 9000), new ServerAddress("m2", 9000)),
          new ClientId(1, 2),
          new ClientEdges(time, time, () -> 0, network),
          RetryPolicy.DEFAULT,
          10 * SECOND);

  /** Fails as often as told, then answers; silent where told so. */
  private final class Answering extends FakeMaster {
    final String name;
    final ArrayDeque<LeaseFsException> failures = new ArrayDeque<>();
    boolean silent;

    Answering(String name) {
      this.name = name;
    }

    private CompletableFuture<FileStatus> answer() {
      asked.add(name);
      if (silent) {
        return new CompletableFuture<>();
      }
      LeaseFsException failure = failures.poll();
      return failure != null
          ? CompletableFuture.failedFuture(failure)
          : CompletableFuture.completedFuture(Layouts.status(0, 0, 0));
    }

    @Override
    public CompletableFuture<Greeting> greet(ClientId client) {
      greetings++;
      return CompletableFuture.completedFuture(
          new Greeting("cluster", "0", new ServerId("m1"), 1, 0, forgetting, SECOND, 1 << 20, 1));
    }

    @Override
    public CompletableFuture<FileStatus> stat(FilePath path) {
      return answer();
    }

    @Override
    public CompletableFuture<FileStatus> mkdir(
        RequestId id, FilePath path, boolean parents, int mode) {
      ids.add(id);
      return answer();
    }
  }

  @BeforeEach
  void connect() {
    network.masters.put("m1:9000", first);
    network.masters.put("m2:9000", second);
  }

  private static LeaseFsException failure(ErrorCode code) {
    return new LeaseFsException(code, code + " said the master");
  }

  private CompletableFuture<FileStatus> stat() {
    return router.ask("stat /file", master -> master.stat(Layouts.PATH));
  }

  private CompletableFuture<FileStatus> mkdir() {
    return router.change(
        "mkdir /file", (master, id) -> master.mkdir(id, Layouts.PATH, false, 0755));
  }

  @Test
  void theHintedLeaderIsAskedAtOnceAndFirstFromThenOn() {
    first.failures.add(new LeaseFsException(ErrorCode.NOT_LEADER, "not I", "m2:9000"));
    assertThat(stat()).isCompleted();
    assertThat(stat()).isCompleted();
    assertThat(asked).containsExactly("m1", "m2", "m2");
  }

  @Test
  void withoutAHintAllMastersAreAskedBeforeThereIsAPause() {
    first.failures.add(failure(ErrorCode.NOT_LEADER));
    assertThat(stat()).isCompleted();
    assertThat(asked).containsExactly("m1", "m2");

    second.failures.add(failure(ErrorCode.NOT_LEADER));
    first.failures.add(failure(ErrorCode.NOT_LEADER));
    CompletableFuture<FileStatus> answer = stat();
    assertThat(answer).isNotDone();
    assertThat(asked).containsExactly("m1", "m2", "m2", "m1");
    assertThat(time.runUntil(answer::isDone, SECOND)).isTrue();
    assertThat(asked).containsExactly("m1", "m2", "m2", "m1", "m2");
  }

  @Test
  void aChangeKeepsItsIdThroughAllAttempts() {
    first.failures.add(failure(ErrorCode.UNREACHABLE));
    second.failures.add(failure(ErrorCode.STARTING));
    first.failures.add(failure(ErrorCode.OUTCOME_UNKNOWN));
    CompletableFuture<FileStatus> answer = mkdir();
    assertThat(time.runUntil(answer::isDone, 5 * SECOND)).isTrue();
    assertThat(answer).isCompleted();
    assertThat(ids).hasSize(4);
    assertThat(ids.stream().distinct()).hasSize(1);
    assertThat(asked).containsExactly("m1", "m2", "m1", "m2");
  }

  @Test
  void aChangeNamesTheForgettingThatTheGreetingTold() {
    assertThat(mkdir()).isCompleted();
    forgetting = 9;
    assertThat(mkdir()).isCompleted();
    assertThat(ids).extracting(RequestId::newestForgetting).containsExactly(7L, 7L);
    assertThat(greetings).isEqualTo(1);
  }

  @Test
  void aClientThatMayBeForgottenGreetsAgainAndItsFreshRequestIsMadeOnce() {
    assertThat(mkdir()).isCompleted();
    forgetting = 9;
    first.failures.add(failure(ErrorCode.UNKNOWN_SESSION));
    assertThat(mkdir()).isCompleted();
    assertThat(greetings).isEqualTo(2);
    assertThat(ids).extracting(RequestId::newestForgetting).containsExactly(7L, 7L, 9L);
    assertThat(ids).extracting(RequestId::sequence).containsExactly(1L, 2L, 3L);

    first.failures.add(failure(ErrorCode.UNKNOWN_SESSION));
    first.failures.add(failure(ErrorCode.UNKNOWN_SESSION));
    assertThat(mkdir()).isCompletedExceptionally();
    assertThat(greetings).as("no more than once a request").isEqualTo(3);
  }

  @Test
  void aRequestOfUnknownFateIsNotMadeAnewWhereTheClientMayBeForgotten() {
    first.failures.add(failure(ErrorCode.OUTCOME_UNKNOWN));
    second.failures.add(failure(ErrorCode.UNKNOWN_SESSION));
    CompletableFuture<FileStatus> answer = mkdir();
    assertThat(time.runUntil(answer::isDone, 5 * SECOND)).isTrue();
    assertThat(answer).isCompletedExceptionally();
    assertThat(ids.stream().distinct()).hasSize(1);
  }

  @Test
  void theFloorIsTheLowestChangeStillAwaited() {
    first.silent = true;
    CompletableFuture<FileStatus> slow = mkdir();
    first.silent = false;
    assertThat(mkdir()).isCompleted();
    assertThat(ids.get(1).sequence()).isEqualTo(2);
    assertThat(ids.get(1).floor()).isEqualTo(1);
    assertThat(time.runUntil(slow::isDone, 9 * SECOND)).isTrue();
    assertThat(mkdir()).isCompleted();
    assertThat(ids.get(ids.size() - 1).floor()).isEqualTo(3);
  }

  @Test
  void changesBeyondTheMastersMemoryWait() {
    first.silent = true;
    CompletableFuture<FileStatus> slow = mkdir();
    first.silent = false;
    List<CompletableFuture<FileStatus>> others = new ArrayList<>();
    for (int i = 0; i < RequestIds.WINDOW + 5; i++) {
      others.add(mkdir());
    }
    assertThat(others.get(RequestIds.WINDOW - 2)).isCompleted();
    assertThat(others.get(RequestIds.WINDOW - 1)).isNotDone();
    assertThat(time.runUntil(slow::isDone, 9 * SECOND)).isTrue();
    assertThat(others).allMatch(CompletableFuture::isDone);
  }

  @Test
  void finalErrorsAreToldAtOnce() {
    first.failures.add(failure(ErrorCode.ALREADY_EXISTS));
    assertThatThrownBy(() -> mkdir().join())
        .hasCauseInstanceOf(LeaseFsException.class)
        .hasMessageContaining("ALREADY_EXISTS");
    assertThat(asked).hasSize(1);
  }

  @Test
  void lackOfServersIsAskedForAgainABoundedNumberOfTimes() {
    for (int i = 0; i < 20; i++) {
      first.failures.add(failure(ErrorCode.TOO_FEW_SERVERS));
    }
    CompletableFuture<FileStatus> answer = mkdir();
    assertThat(time.runUntil(answer::isDone, 10 * SECOND)).isTrue();
    assertThat(answer).isCompletedExceptionally();
    assertThat(asked).hasSize(1 + RetryPolicy.DEFAULT.maxBackOffs());
  }

  @Test
  void aSilentMasterIsLeftForTheNextOne() {
    first.silent = true;
    CompletableFuture<FileStatus> answer = stat();
    assertThat(time.runUntil(answer::isDone, 6 * SECOND)).isTrue();
    assertThat(asked).containsExactly("m1", "m2");
  }

  @Test
  void whenTimeIsUpTheMessageSaysWhatItWaitedFor() {
    network.masters.clear();
    CompletableFuture<FileStatus> answer = stat();
    assertThat(time.runUntil(answer::isDone, 11 * SECOND)).isTrue();
    assertThatThrownBy(answer::join)
        .cause()
        .hasMessageContaining("stat /file: no answer from master m")
        .hasMessageContaining("within 10 s")
        .hasMessageContaining("nobody there")
        .extracting(failure -> ((LeaseFsException) failure).code())
        .isEqualTo(ErrorCode.UNREACHABLE);
  }
}
