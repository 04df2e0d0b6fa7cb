package io.leasefs.cluster.demo;

import io.leasefs.client.LeaseFs;
import io.leasefs.client.LeaseFsConfig;
import io.leasefs.cluster.mini.MiniCluster;
import io.leasefs.cluster.mini.ServerChild;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.lease.LeaseTerms;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Harm to a mini-cluster's servers, drawn from a seed: what, whom, when and for how long. At most
 * {@link #AT_ONCE} chunkservers suffer at a time, and the master beside them. One thread.
 */
final class Harms {
  /** What can be done. */
  enum Kind {
    /** SIGKILL, and started again later. */
    KILL,
    /** SIGSTOP, SIGCONT later. */
    FREEZE,
    /** Messages from, to, or from and to one party are dropped: the master, a peer, all clients. */
    CUT,
    /** Messages from, to, or from and to one party take longer, by up to T. */
    DELAY,
    /** Every write and fsync takes longer. */
    SLOW_DISK,
    /** Writes find no space. */
    FULL_DISK,
    /** SIGKILL of the master, and started again later. */
    MASTER_KILL,
    /** SIGSTOP of the master, SIGCONT later. */
    MASTER_FREEZE,
    /** From the start to the end: see {@link WrongClocks}. */
    WRONG_CLOCKS;

    /** As users write it. */
    String text() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  /** When a server's process was dead for certain; {@link System#nanoTime}. */
  record Death(String server, long atNanos) {}

  private static final int AT_ONCE = 2;
  private static final Duration ORDER_TIMEOUT = Duration.ofSeconds(5);
  private static final String MASTER = "master";
  private static final long MILLION = 1_000_000;

  private record Healing(String server, Runnable act) {}

  private final MiniCluster cluster;
  private final LeaseTerms terms;
  private final List<Kind> kinds;
  private final Random random;
  private final Consumer<String> story;
  private final TreeMap<Long, Healing> healings = new TreeMap<>();
  private final Set<String> suffering = new TreeSet<>();
  private final Map<Kind, Integer> counts = new EnumMap<>(Kind.class);
  private final List<Death> deaths = new ArrayList<>();

  /** {@code story} gets a line for each harm. */
  Harms(MiniCluster cluster, LeaseTerms terms, Set<Kind> kinds, long seed, Consumer<String> story) {
    this.cluster = cluster;
    this.terms = terms;
    this.kinds = kinds.stream().filter(kind -> kind != Kind.WRONG_CLOCKS).sorted().toList();
    this.random = new Random(seed);
    this.story = story;
  }

  /** Does harm until then, and heals all of it. */
  void run(long untilNanos) throws InterruptedException {
    long nextHarm = kinds.isEmpty() ? untilNanos : System.nanoTime();
    while (true) {
      long now = System.nanoTime();
      if (!healings.isEmpty() && healings.firstKey() - now <= 0) {
        heal();
      } else if (now - untilNanos >= 0) {
        break;
      } else if (nextHarm - now <= 0) {
        harm(now);
        nextHarm = now + drawn(terms.ttlNanos() / 10, terms.ttlNanos());
      } else {
        long wake = Math.min(nextHarm, untilNanos);
        wake = healings.isEmpty() ? wake : Math.min(wake, healings.firstKey());
        TimeUnit.NANOSECONDS.sleep(wake - now);
      }
    }
    while (!healings.isEmpty()) {
      heal();
    }
  }

  private long drawn(long from, long to) {
    return from + (long) (random.nextDouble() * (to - from));
  }

  private void harm(long now) {
    Kind kind = kinds.get(random.nextInt(kinds.size()));
    boolean ofMaster = kind == Kind.MASTER_KILL || kind == Kind.MASTER_FREEZE;
    List<ServerChild> well =
        cluster.chunkServers().stream().filter(c -> !suffering.contains(c.name())).toList();
    boolean tooMany = cluster.chunkServers().size() - well.size() >= AT_ONCE;
    if (ofMaster ? suffering.contains(MASTER) : tooMany) {
      return;
    }
    ServerChild victim = ofMaster ? cluster.master() : well.get(random.nextInt(well.size()));
    String name = victim.name();
    long lasts = drawn(terms.heartbeatNanos(), 2 * terms.grantorValidityNanos());
    switch (kind) {
      case KILL -> {
        kill(victim);
        healings.put(now + lasts, new Healing(name, () -> cluster.restart(victim)));
        told(kind, name, "");
      }
      case MASTER_KILL -> {
        kill(victim);
        long soon = drawn(0, terms.ttlNanos());
        healings.put(now + soon, new Healing(name, cluster::startMaster));
        told(kind, name, "");
      }
      case FREEZE, MASTER_FREEZE -> {
        victim.freeze();
        long stands = ofMaster ? drawn(0, terms.ttlNanos()) : lasts;
        healings.put(now + stands, new Healing(name, victim::thaw));
        told(kind, name, " for " + stands / MILLION + " ms");
      }
      case CUT -> {
        String party = party(name);
        String direction = direction();
        if (order(name, "cut", List.of(party, direction))) {
          healings.put(now + lasts, new Healing(name, () -> healFaults(name)));
          told(kind, name, " from " + party + " " + direction);
        }
      }
      case DELAY -> {
        String party = party(name);
        String direction = direction();
        // as often between 1 and 10 ms as between 100 ms and 1 s
        double most = (double) terms.ttlNanos() / MILLION;
        String millis = Long.toString((long) Math.pow(most, random.nextDouble()));
        if (order(name, "delay", List.of(party, millis, direction))) {
          healings.put(now + lasts, new Healing(name, () -> healFaults(name)));
          told(kind, name, " from " + party + " " + direction + " by " + millis + " ms");
        }
      }
      case SLOW_DISK -> {
        String delay = Long.toString(drawn(1, 100));
        if (order(name, "slow-disk", List.of(delay))) {
          healings.put(now + lasts, new Healing(name, () -> healFaults(name)));
          told(kind, name, " by " + delay + " ms");
        }
      }
      case FULL_DISK -> {
        if (order(name, "full-disk", List.of())) {
          healings.put(now + lasts, new Healing(name, () -> healFaults(name)));
          told(kind, name, "");
        }
      }
      case WRONG_CLOCKS -> throw new IllegalStateException("not a moment's harm");
    }
  }

  private void told(Kind kind, String server, String more) {
    suffering.add(server);
    counts.merge(kind, 1, Integer::sum);
    story.accept(kind.text() + " " + server + more);
  }

  private void kill(ServerChild victim) {
    victim.kill();
    deaths.add(new Death(victim.name(), System.nanoTime()));
  }

  private String direction() {
    return List.of("in", "out", "both").get(random.nextInt(3));
  }

  private String party(String name) {
    List<String> parties = new ArrayList<>(List.of("master", "clients"));
    cluster.chunkServers().stream().map(ServerChild::name).forEach(parties::add);
    parties.remove(name);
    return parties.get(random.nextInt(parties.size()));
  }

  private void heal() {
    Healing healing = healings.pollFirstEntry().getValue();
    healing.act().run();
    suffering.remove(healing.server());
  }

  private void healFaults(String name) {
    if (!order(name, "heal", List.of())) {
      // who cannot be told loses its faults with its process
      cluster
          .chunkServer(name)
          .ifPresent(
              server -> {
                kill(server);
                cluster.restart(server);
              });
    }
  }

  /** False where it could not be told. The master is not needed for this: it may be away. */
  private boolean order(String name, String command, List<String> arguments) {
    ServerChild server = cluster.chunkServer(name).orElseThrow();
    LeaseFsConfig config = LeaseFsConfig.of(List.of(cluster.masterAddress()));
    try (LeaseFs client = LeaseFs.connect(config.withTimeout(ORDER_TIMEOUT))) {
      List<String> _ = LeaseFs.join(client.chunkServer(server.address()).fault(command, arguments));
      return true;
    } catch (LeaseFsException e) {
      story.accept(name + " could not be told to " + command + ": " + e.getMessage());
      return false;
    }
  }

  /** How often each was done. */
  Map<Kind, Integer> counts() {
    return Map.copyOf(counts);
  }

  List<Death> deaths() {
    return List.copyOf(deaths);
  }
}
