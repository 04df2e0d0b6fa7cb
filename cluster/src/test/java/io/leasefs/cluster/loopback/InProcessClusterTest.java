package io.leasefs.cluster.loopback;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import org.junit.jupiter.api.Test;

/** The cluster that the tests of the command line stand on. */
class InProcessClusterTest {
  @Test
  void keepsFilesWhenAllOfItsServersAreStoppedAndStartedAgain() throws Exception {
    try (InProcessCluster cluster = InProcessCluster.start(3)) {
      cluster.shell().pipe("hello\n".getBytes(UTF_8), "put", "-", "/hello").mustBe(0);
      assertThat(cluster.shell().run("cat", "/hello").mustBe(0).out()).isEqualTo("hello\n");
      for (String name : cluster.names()) {
        cluster.stopChunkServer(name);
      }
      cluster.stopMaster();
      cluster.startMaster();
      for (int i = 1; i <= 3; i++) {
        cluster.startChunkServer("cs" + i);
      }
      cluster.awaitNodes(3);
      assertThat(cluster.shell().run("cat", "/hello").mustBe(0).out()).isEqualTo("hello\n");
    }
  }

  @Test
  void chunkserverCountsItsHeartbeats() throws Exception {
    try (InProcessCluster cluster = InProcessCluster.start(1);
        InputStream page = cluster.metrics("cs1").toURL().openStream()) {
      assertThat(new String(page.readAllBytes(), UTF_8))
          .containsPattern("leasefs_heartbeats_answered_total [1-9]")
          .containsPattern("leasefs_heartbeat_bytes_total [1-9]");
    }
  }
}
