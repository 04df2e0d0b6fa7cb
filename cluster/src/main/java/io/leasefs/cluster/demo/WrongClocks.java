package io.leasefs.cluster.demo;

import io.leasefs.common.model.ClusterEvent;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;

/**
 * Servers' clocks that are wrong from their start to their end, as far as the terms of leases allow
 * (rho): half of them at the very bound, some fast, some slow; and wall clocks that are off by up
 * to a day, which must not matter. Immutable.
 *
 * @param driftPpm by server; none: all are right
 */
record WrongClocks(Map<String, Long> driftPpm, Map<String, Long> wallSeconds) {
  private static final long MILLION = 1_000_000;
  private static final int DAY_SECONDS = 86_400;

  /** Real clocks of a machine drift, too: what is left to them of the bound. */
  private static final long SPARE_PPM = 500;

  /** Durations in events that were measured by a server's own clock. */
  private static final List<String> MEASURED = List.of("leftNanos", "agoNanos");

  WrongClocks {
    driftPpm = Map.copyOf(driftPpm);
    wallSeconds = Map.copyOf(wallSeconds);
  }

  static WrongClocks none() {
    return new WrongClocks(Map.of(), Map.of());
  }

  /** The master's and so many chunkservers' clocks, by chance. */
  static WrongClocks draw(Random random, long boundPpm, int chunkServers) {
    Map<String, Long> drifts = new LinkedHashMap<>();
    Map<String, Long> walls = new LinkedHashMap<>();
    long most = Math.max(0, boundPpm - SPARE_PPM);
    List<String> servers = new ArrayList<>(List.of("master"));
    for (int i = 1; i <= chunkServers; i++) {
      servers.add("cs" + i);
    }
    for (String server : servers) {
      long drift = random.nextBoolean() ? most : random.nextLong(most + 1);
      drifts.put(server, random.nextBoolean() ? drift : -drift);
      walls.put(server, (long) random.nextInt(2 * DAY_SECONDS) - DAY_SECONDS);
    }
    return new WrongClocks(drifts, walls);
  }

  /** What each server has to be told when it starts. */
  Map<String, List<String>> flags() {
    Map<String, List<String>> flags = new HashMap<>();
    driftPpm.forEach(
        (server, drift) ->
            flags.put(
                server,
                List.of(
                    "--fault-drift=" + drift,
                    "--fault-wall=" + wallSeconds.getOrDefault(server, 0L))));
    return flags;
  }

  /**
   * The same events in true time. Servers stamp them by the machine's clock; but what they say of
   * durations was measured by their own.
   */
  List<ClusterEvent> trueTimes(List<ClusterEvent> events) {
    return driftPpm.isEmpty() ? events : events.stream().map(this::trueTime).toList();
  }

  private ClusterEvent trueTime(ClusterEvent event) {
    long drift = driftPpm.getOrDefault(event.recorder().name(), 0L);
    if (drift == 0 || MEASURED.stream().noneMatch(event.fields()::containsKey)) {
      return event;
    }
    Map<String, String> fields = new LinkedHashMap<>(event.fields());
    for (String name : MEASURED) {
      fields.computeIfPresent(name, (n, text) -> Long.toString(trueNanos(text, drift)));
    }
    return new ClusterEvent(
        event.number(),
        event.recorder(),
        event.wallMillis(),
        event.monotonicNanos(),
        event.kind(),
        event.subject(),
        event.chunk(),
        event.version(),
        fields);
  }

  private static long trueNanos(String measured, long drift) {
    return (long) Math.ceil(Long.parseLong(measured) / (1 + drift / (double) MILLION));
  }

  /** For people. */
  @Override
  public String toString() {
    return String.join(
        ", ",
        Stream.concat(
                Stream.of("master"),
                driftPpm.keySet().stream().filter(s -> !s.equals("master")).sorted())
            .filter(driftPpm::containsKey)
            .map(server -> server + " " + driftPpm.get(server) + " ppm")
            .toList());
  }
}
