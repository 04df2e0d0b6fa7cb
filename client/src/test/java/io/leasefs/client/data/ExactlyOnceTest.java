package io.leasefs.client.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.client.edge.ClientEdges;
import io.leasefs.client.fake.FakeNetwork;
import io.leasefs.client.fake.Layouts;
import io.leasefs.client.fake.ModelCluster;
import io.leasefs.client.fake.VirtualTime;
import io.leasefs.client.meta.ClientSession;
import io.leasefs.client.meta.MasterRouter;
import io.leasefs.client.retry.RetryPolicy;
import io.leasefs.common.model.AppendResult;
import io.leasefs.common.model.ClientId;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Several processes append to one file while everything goes wrong that may. */
class ExactlyOnceTest {
  private static final long SECOND = 1_000_000_000L;

  private VirtualTime time = new VirtualTime();
  private FakeNetwork network = new FakeNetwork();

  /** One appending process. */
  private final class Appending {
    final int number;
    final AsyncAppender appender;
    final List<CompletableFuture<Written>> answers = new ArrayList<>();

    Appending(int number, Random random) {
      this.number = number;
      ClientEdges edges = new ClientEdges(time, time, random::nextLong, network);
      MasterRouter router =
          new MasterRouter(
              ModelCluster.masters(),
              new ClientId(1, number),
              edges,
              RetryPolicy.DEFAULT,
              600 * SECOND);
      OpenFiles files =
          new OpenFiles(
              edges,
              router,
              new ClientSession(edges, router),
              new WriteLimits(1 << 20, SECOND, true, 600 * SECOND));
      CompletableFuture<AsyncAppender> open = files.openForWrite(Layouts.PATH, 0);
      assertThat(time.runUntil(open::isDone, 600 * SECOND)).isTrue();
      appender = open.join();
    }

    void append(int padding) {
      String text = "p" + number + "-r" + answers.size() + "-" + "x".repeat(padding);
      ByteBuffer record = ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII));
      answers.add(appender.append(record));
    }

    boolean isDone() {
      return answers.stream().allMatch(CompletableFuture::isDone);
    }
  }

  private ModelCluster run(long seed, int processes, int records, int trouble, int deaths) {
    time = new VirtualTime();
    network = new FakeNetwork();
    Random random = new Random(seed);
    ModelCluster cluster = new ModelCluster(time, random, 1 << 20, network);
    cluster.trouble = 0;
    List<Appending> all = new ArrayList<>();
    for (int i = 0; i < processes; i++) {
      all.add(new Appending(i, random));
    }
    cluster.trouble = trouble;
    cluster.sessionDeaths = deaths;
    for (int i = 0; i < records; i++) {
      all.get(random.nextInt(processes)).append(random.nextInt(50_000));
      time.pass(random.nextInt(20_000_000));
    }
    boolean done = time.runUntil(() -> all.stream().allMatch(Appending::isDone), 60 * SECOND);
    cluster.calm();
    done = done || time.runUntil(() -> all.stream().allMatch(Appending::isDone), 500 * SECOND);
    String states = all.stream().map(process -> process.appender.toString()).toList().toString();
    assertThat(done).as("every append is answered, seed %s: %s", seed, states).isTrue();
    verify(seed, cluster.content(), all);
    return cluster;
  }

  private static void verify(long seed, Map<Long, byte[]> content, List<Appending> all) {
    List<String> inFile = new ArrayList<>();
    content.values().forEach(bytes -> inFile.add(name(bytes)));
    assertThat(inFile).as("none twice, seed %s", seed).doesNotHaveDuplicates();
    for (Appending process : all) {
      long before = -1;
      for (int i = 0; i < process.answers.size(); i++) {
        AppendResult result = process.answers.get(i).join().result().orElseThrow();
        byte[] found = Objects.requireNonNull(content.get(result.fileOffset()), result.toString());
        assertThat(name(found)).isEqualTo("p" + process.number + "-r" + i);
        assertThat(result.fileOffset()).as("order, seed %s", seed).isGreaterThan(before);
        before = result.fileOffset();
      }
    }
    long appended = all.stream().mapToLong(process -> process.answers.size()).sum();
    assertThat(inFile).as("nothing else, seed %s", seed).hasSize((int) appended);
  }

  private static String name(byte[] record) {
    String text = new String(record, StandardCharsets.US_ASCII);
    return text.substring(0, text.lastIndexOf('-'));
  }

  @Test
  void withoutTroubleEveryRecordIsThereOnceAndInOrder() {
    ModelCluster unused = run(1, 2, 200, 0, 0);
  }

  @Test
  void lossFailoversAndEarlySealsLoseDoubleAndReorderNothing() {
    int failovers = 0;
    int earlySeals = 0;
    for (long seed = 0; seed < 60; seed++) {
      ModelCluster cluster = run(seed, 1 + (int) (seed % 3), 150, 10 + (int) (seed % 5) * 15, 0);
      failovers += cluster.failovers;
      earlySeals += cluster.earlySeals;
    }
    assertThat(failovers).isGreaterThan(40);
    assertThat(earlySeals).isGreaterThan(40);
  }

  @Test
  void processesThatLoseTheirSessionsGoOnInNewOnes() {
    int ended = 0;
    for (long seed = 1000; seed < 1025; seed++) {
      ended += run(seed, 2, 120, 40, 500).endedSessions;
    }
    assertThat(ended).isGreaterThan(8);
  }
}
