package io.leasefs.cluster.bench;

import io.leasefs.cluster.mini.MiniCluster;
import io.leasefs.cluster.mini.ServerChild;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Reads what servers count, from their admin addresses. One thread. */
final class ServerMeters {
  private static final Duration LIMIT = Duration.ofSeconds(10);

  private final HttpClient http = HttpClient.newBuilder().connectTimeout(LIMIT).build();
  private final List<URI> pages;

  private ServerMeters(List<URI> pages) {
    this.pages = pages;
  }

  /** Of the cluster's chunkservers. */
  static ServerMeters of(MiniCluster cluster) {
    List<URI> pages = new ArrayList<>();
    for (ServerChild server : cluster.chunkServers()) {
      pages.add(URI.create("http://" + server.fact("admin") + "/metrics"));
    }
    return new ServerMeters(List.copyOf(pages));
  }

  /** The sum over all servers of this meter. */
  double sum(String meter) throws IOException, InterruptedException {
    double sum = 0;
    for (URI page : pages) {
      HttpResponse<String> answer =
          http.send(
              HttpRequest.newBuilder(page).timeout(LIMIT).build(),
              HttpResponse.BodyHandlers.ofString());
      sum += value(answer.body(), meter);
    }
    return sum;
  }

  /** The sum of all lines of this meter, whatever their labels. */
  static double value(String page, String meter) {
    double sum = 0;
    boolean found = false;
    for (String line : page.lines().toList()) {
      int blank = line.lastIndexOf(' ');
      if (blank > 0 && (line.startsWith(meter + "{") || line.startsWith(meter + " "))) {
        sum += Double.parseDouble(line.substring(blank + 1));
        found = true;
      }
    }
    if (!found) {
      throw new IllegalArgumentException("no meter named " + meter);
    }
    return sum;
  }
}
