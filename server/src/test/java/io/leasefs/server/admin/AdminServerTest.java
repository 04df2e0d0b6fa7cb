package io.leasefs.server.admin;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.Socket;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class AdminServerTest {
  private static final ServerAddress ANY = new ServerAddress("127.0.0.1", 0);

  private final PrometheusMeterRegistry metrics =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private volatile Health health = new Health(true, "serving", Map.of("chunks", 3));
  private final AdminServer admin = AdminServer.start(ANY, () -> health, metrics);

  @AfterEach
  void stop() {
    admin.close();
  }

  @Test
  void healthIsTwoHundredOrFiveHundredAndThree() throws IOException {
    assertThat(get("/health"))
        .startsWith("HTTP/1.1 200 ")
        .endsWith("\r\n\r\n{\"serving\":true,\"state\":\"serving\",\"chunks\":3}\n");
    health = new Health(false, "starting", Map.of());
    assertThat(get("/health"))
        .startsWith("HTTP/1.1 503 ")
        .endsWith("\r\n\r\n{\"serving\":false,\"state\":\"starting\"}\n");
  }

  @Test
  void metricsAreInPrometheusText() throws IOException {
    metrics.counter("leasefs.grants").increment(2);
    assertThat(get("/metrics")).startsWith("HTTP/1.1 200 ").contains("leasefs_grants_total 2.0");
  }

  @Test
  void manyMetricsAreWrittenWithLittleGarbage() throws IOException {
    for (int i = 0; i < 300; i++) {
      metrics.counter("leasefs.grants", "chunk", "chunk-" + i).increment();
    }
    String first = get("/metrics"); // classes are loaded
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getTotalThreadAllocatedBytes();
    assertThat(get("/metrics")).hasSameSizeAs(first);
    assertThat(threads.getTotalThreadAllocatedBytes() - before).isLessThan(100L * first.length());
  }

  @Test
  void pageSeesPathQueryAndBody() throws IOException {
    admin.add(
        "/leases",
        request -> AdminAnswer.text(200, request.path() + " " + request.query() + request.body()));
    assertThat(
            exchange(
                "POST /leases/7?a=1%202&b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n"
                    + "Connection: close\r\n\r\nxyz"))
        .endsWith("\r\n\r\n/leases/7 {a=1 2, b=}xyz");
  }

  @Test
  void failuresOfAPageAreAnswered() throws IOException {
    admin.add(
        "/bad",
        request -> {
          throw new IllegalArgumentException("no such chunk");
        });
    admin.add(
        "/broken",
        request -> {
          throw new IOException("disk is gone");
        });
    assertThat(get("/bad")).startsWith("HTTP/1.1 400 ").endsWith("no such chunk\n");
    assertThat(get("/broken")).startsWith("HTTP/1.1 500 ").contains("disk is gone");
    assertThat(get("/none")).startsWith("HTTP/1.1 404 ");
  }

  @Test
  void requestsOfWebPagesAreRefused() throws IOException {
    String end = "Connection: close\r\n\r\n";
    String line = "GET /health HTTP/1.1\r\n";
    assertThat(exchange(line + "Host: evil.example\r\n" + end)).startsWith("HTTP/1.1 403 ");
    assertThat(exchange(line + "Host: localhost\r\nOrigin: http://evil.example\r\n" + end))
        .startsWith("HTTP/1.1 403 ");
    assertThat(exchange(line + "Host: cs1:9901\r\nOrigin: http://cs1:9901\r\n" + end))
        .startsWith("HTTP/1.1 200 ");
    assertThat(exchange(line + "Host: [::1]:9901\r\n" + end)).startsWith("HTTP/1.1 200 ");
  }

  @Test
  void bodyOverTheBoundIsRefused() throws IOException {
    assertThat(
            exchange(
                "POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048577\r\n"
                    + "Connection: close\r\n\r\n"
                    + "x".repeat(1_048_577)))
        .startsWith("HTTP/1.1 413 ");
  }

  @Test
  void portInUseIsSaidInOneLine() {
    ServerAddress taken = admin.address();
    assertThatThrownBy(() -> AdminServer.start(taken, () -> health, metrics))
        .isInstanceOf(LeaseFsException.class)
        .hasMessage(taken + ": the admin port cannot be opened: Address already in use");
  }

  private String get(String path) throws IOException {
    return exchange("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  }

  /** Sends a request as it stands; headers such as Host cannot be set by the JDK's client. */
  private String exchange(String request) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), admin.address().port())) {
      socket.setSoTimeout(10_000);
      socket.getOutputStream().write(request.getBytes(UTF_8));
      socket.getOutputStream().flush();
      return new String(socket.getInputStream().readAllBytes(), UTF_8);
    }
  }
}
