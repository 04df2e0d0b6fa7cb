package io.leasefs.server.admin;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves {@code /health} (200 or 503 with one line of JSON), {@code /metrics} (Prometheus text) and
 * pages that others plug in. There is no authentication: it belongs on loopback or inside a closed
 * network. A web page must not reach it through a browser on this host, so requests that carry a
 * foreign Origin, or a Host name with a dot that is no address, are refused.
 */
public final class AdminServer implements AutoCloseable {
  private static final Logger logger = LoggerFactory.getLogger(AdminServer.class);
  private static final int MAX_BODY_BYTES = 1 << 20;
  private static final int MAX_CONNECTIONS = 64;
  private static final Pattern OWN_HOST =
      Pattern.compile("([A-Za-z0-9_-]+|[0-9.]+|\\[[0-9a-fA-F:.]+])(:\\d+)?");

  static {
    // Bounds of the JDK's server; they can only be set as properties, before its first use.
    setUnlessSet("jdk.httpserver.maxConnections", MAX_CONNECTIONS);
    setUnlessSet("sun.net.httpserver.maxReqTime", 10);
    setUnlessSet("sun.net.httpserver.maxRspTime", 60);
    setUnlessSet("sun.net.httpserver.nodelay", true);
  }

  private final HttpServer server;
  private final ExecutorService requests;
  private final ServerAddress address;

  private AdminServer(HttpServer server, ExecutorService requests, ServerAddress address) {
    this.server = server;
    this.requests = requests;
    this.address = address;
  }

  /**
   * Listens at once, and answers.
   *
   * @param listen port 0 lets the kernel choose
   * @param health called for each request of /health, on any thread
   * @throws LeaseFsException if the port is in use or the host is none of this machine's
   */
  public static AdminServer start(
      ServerAddress listen, Supplier<Health> health, PrometheusMeterRegistry metrics) {
    HttpServer server;
    try {
      server = HttpServer.create(new InetSocketAddress(listen.host(), listen.port()), 0);
    } catch (IOException | RuntimeException e) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          listen + ": the admin port cannot be opened: " + e.getMessage(),
          "choose a free address of this host by --admin, or port 0 for any",
          e);
    }
    // Not virtual ones: on those, JDK 25's BufferedWriter begins small and grows by a copy for each
    // write, which makes 20 MB of garbage of one answer of 8 KB. Connections are bounded, so
    // threads are.
    ExecutorService requests =
        Executors.newThreadPerTaskExecutor(
            Thread.ofPlatform().daemon().name("admin-", 0).factory());
    server.setExecutor(requests);
    AdminServer admin =
        new AdminServer(
            server, requests, new ServerAddress(listen.host(), server.getAddress().getPort()));
    admin.add("/health", request -> answer(health.get()));
    admin.add(
        "/metrics",
        request ->
            new AdminAnswer(200, "text/plain; version=0.0.4; charset=utf-8", metrics.scrape()));
    server.start();
    return admin;
  }

  /** Where it listens, with the port that the kernel chose. */
  public ServerAddress address() {
    return address;
  }

  /**
   * Adds a page, for this path and everything below it that has no page of its own.
   *
   * @throws IllegalArgumentException if the path has a page
   */
  public void add(String path, AdminPage page) {
    server.createContext(path, exchange -> serve(exchange, page));
  }

  /** Stops listening and waits at most a second for requests under way. */
  @Override
  public void close() {
    server.stop(1);
    requests.shutdownNow();
  }

  private static AdminAnswer answer(Health health) {
    return new AdminAnswer(
        health.serving() ? 200 : 503, "application/json", health.toJson() + "\n");
  }

  private static void serve(HttpExchange exchange, AdminPage page) throws IOException {
    try (exchange) {
      AdminAnswer answer = answer(exchange, page);
      byte[] body = answer.body().getBytes(StandardCharsets.UTF_8);
      Headers headers = exchange.getResponseHeaders();
      headers.set("Content-Type", answer.contentType());
      headers.set("Cache-Control", "no-store");
      headers.set("X-Content-Type-Options", "nosniff");
      boolean empty = body.length == 0 || exchange.getRequestMethod().equals("HEAD");
      exchange.sendResponseHeaders(answer.status(), empty ? -1 : body.length);
      if (!empty) {
        exchange.getResponseBody().write(body);
      }
    }
  }

  private static AdminAnswer answer(HttpExchange exchange, AdminPage page) {
    String path = exchange.getRequestURI().getPath();
    try {
      if (isForeign(exchange.getRequestHeaders())) {
        return AdminAnswer.text(403, "requests from web pages are refused\n");
      }
      byte[] body = exchange.getRequestBody().readNBytes(MAX_BODY_BYTES + 1);
      if (body.length > MAX_BODY_BYTES) {
        return AdminAnswer.text(413, "the body is over 1 MiB\n");
      }
      return page.answer(
          new AdminRequest(
              exchange.getRequestMethod(),
              path,
              query(exchange.getRequestURI().getRawQuery()),
              new String(body, StandardCharsets.UTF_8)));
    } catch (IllegalArgumentException | LeaseFsException e) {
      return AdminAnswer.text(400, e.getMessage() + "\n");
    } catch (Exception e) {
      logger.warn("admin page failed path={}", path, e);
      return AdminAnswer.text(500, "failed: " + e + "\n");
    }
  }

  private static boolean isForeign(Headers headers) {
    String host = headers.getFirst("Host");
    String origin = headers.getFirst("Origin");
    boolean ownHost = host == null || OWN_HOST.matcher(host).matches();
    return !ownHost || (origin != null && !origin.equals("http://" + host));
  }

  private static Map<String, String> query(@Nullable String raw) {
    Map<String, String> query = new LinkedHashMap<>();
    if (raw != null && !raw.isEmpty()) {
      for (String part : raw.split("&", -1)) {
        int equals = part.indexOf('=');
        String name = equals < 0 ? part : part.substring(0, equals);
        String value = equals < 0 ? "" : part.substring(equals + 1);
        query.put(decode(name), decode(value));
      }
    }
    return query;
  }

  private static String decode(String text) {
    return URLDecoder.decode(text, StandardCharsets.UTF_8);
  }

  private static void setUnlessSet(String property, Object value) {
    if (System.getProperty(property) == null) {
      System.setProperty(property, value.toString());
    }
  }
}
