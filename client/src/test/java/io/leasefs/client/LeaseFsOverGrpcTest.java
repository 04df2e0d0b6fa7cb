package io.leasefs.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.client.fake.MemoryCluster;
import io.leasefs.client.fake.MemoryServers;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.AppendResult;
import io.leasefs.common.model.ServerAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The library over real connections, against servers in memory. */
class LeaseFsOverGrpcTest {
  private final MemoryServers servers = new MemoryServers(new MemoryCluster(16 << 20));
  private final LeaseFs files =
      LeaseFs.connect(
          LeaseFsConfig.of(List.of(servers.master())).withTimeout(Duration.ofSeconds(10)));

  @BeforeEach
  void warmUp() {
    assertThat(files.greeting().clusterId()).isEqualTo("cluster");
  }

  @AfterEach
  void close() {
    files.close();
    servers.close();
  }

  @Test
  void aLargeFileComesBackAsItWasWritten() {
    byte[] content = new byte[40 << 20];
    new Random(3).nextBytes(content);
    try (FileWriter writer = files.create("/large")) {
      writer.write(content);
    }
    byte[] found = new byte[content.length];
    try (FileReader reader = files.open("/large")) {
      int at = 0;
      while (at < found.length) {
        at += reader.read(found, at, found.length - at);
      }
      assertThat(reader.read(found, 0, 1)).isEqualTo(-1);
    }
    assertThat(found).isEqualTo(content);
  }

  @Test
  void recordsOfManyThreadsAreAllThere() throws InterruptedException {
    files.create("/log").close();
    List<Thread> threads = new ArrayList<>();
    List<CompletableFuture<AppendResult>> results = new ArrayList<>();
    try (RecordAppender appender = files.recordAppender("/log")) {
      for (int t = 0; t < 4; t++) {
        Thread thread =
            new Thread(
                () -> {
                  for (int i = 0; i < 500; i++) {
                    CompletableFuture<AppendResult> result =
                        appender.appendAsync(ByteBuffer.wrap(new byte[100]));
                    synchronized (results) {
                      results.add(result);
                    }
                  }
                });
        threads.add(thread);
        thread.start();
      }
      for (Thread thread : threads) {
        thread.join();
      }
    }
    assertThat(results.stream().map(result -> LeaseFs.join(result).fileOffset()).distinct())
        .hasSize(2000);
    assertThat(files.stat("/log").lengthBytes()).isEqualTo(200_000);
  }

  @Test
  void nobodyAtTheMastersAddressIsToldWithTheAddress() {
    ServerAddress nobody = new ServerAddress("127.0.0.1", 1);
    try (LeaseFs none =
        LeaseFs.connect(LeaseFsConfig.of(List.of(nobody)).withTimeout(Duration.ofSeconds(1)))) {
      assertThatThrownBy(() -> none.stat("/"))
          .hasMessageContaining("stat /: no answer from master 127.0.0.1:1 within 1 s")
          .extracting(failure -> ((LeaseFsException) failure).code())
          .isEqualTo(ErrorCode.UNREACHABLE);
    }
  }
}
