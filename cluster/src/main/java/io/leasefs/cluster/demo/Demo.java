package io.leasefs.cluster.demo;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.leasefs.client.CreateOptions;
import io.leasefs.client.FileReader;
import io.leasefs.client.FileWriter;
import io.leasefs.client.LeaseFs;
import io.leasefs.client.LeaseFsConfig;
import io.leasefs.cluster.demo.Evidence.Acknowledged;
import io.leasefs.cluster.demo.Evidence.Copy;
import io.leasefs.cluster.demo.Evidence.Facts;
import io.leasefs.cluster.demo.Evidence.Found;
import io.leasefs.common.api.AdminApi;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.ServerId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Writes, does harm to a server in the middle of it, reads everything back and gathers the
 * evidence. Runs on the caller's thread.
 */
public final class Demo {
  /** What is done to whom. */
  public enum Kind {
    /** The primary is killed. */
    FAILOVER,
    /** The primary is frozen past its lease and woken up. */
    PAUSE,
    /** The primary is cut off from the master; it and the others still hear one another. */
    PARTITION_MASTER,
    /** The primary is cut off from its secondaries; all still hear the master. */
    PARTITION_PEERS,
    /** The primary is told to hand over. */
    DRAIN,
    /** A secondary is killed. */
    SECONDARY_KILLED,
    /** A secondary is frozen. */
    SECONDARY_FROZEN
  }

  private static final long SECOND = 1_000_000_000;
  private static final long MILLION = 1_000_000;
  private static final int MOST_WARM_UP_SECONDS = 15;
  private static final int WARM_UP_HAND_OVERS = 3;
  private static final int APPEND_CLIENTS = 4;
  private static final int STAYING_CLIENTS = 2;

  /**
   * What a client rests after an answer. Without it six clients and six servers fill two cores, and
   * the gap measured is mostly the wait for a processor.
   */
  private static final long REST_NANOS = 15 * MILLION;

  private static final int TRIES_FOR_ONE_PRIMARY = 20;
  private static final int REAL_FILE_BYTES = 8 << 20;
  private static final String FOLDER = "/demo";
  private static final String REAL_FILE = FOLDER + "/file";
  private static final Pattern OWN_FILES =
      Pattern.compile(FOLDER + "/(file|appends|staying|try-[0-9]+)");

  private final Kind kind;
  private final DemoCluster cluster;
  private final LeaseFs client;
  private final ReadBack back;
  private final BiConsumer<Double, String> lines;
  private final @Nullable Path file;
  private final long beganNanos;

  /**
   * A demo on this cluster.
   *
   * @param beganNanos the beginning: before the cluster was started, where it is an own one
   * @param lines gets seconds since the beginning and what has happened
   * @param file a local file to write and read back; null: a random one
   */
  Demo(
      Kind kind,
      DemoCluster cluster,
      long beganNanos,
      BiConsumer<Double, String> lines,
      @Nullable Path file) {
    this.beganNanos = beganNanos;
    this.kind = kind;
    this.cluster = cluster;
    this.client = LeaseFs.connect(LeaseFsConfig.of(cluster.masters()));
    this.back = new ReadBack(client);
    this.lines = lines;
    this.file = file;
  }

  /** Runs it; the evidence is what a {@link Verdict} is made of. */
  Evidence run() throws IOException, InterruptedException {
    try {
      return runWith(LeaseTerms.ofTtl(client.greeting().leaseTtlNanos()));
    } finally {
      client.close();
    }
  }

  private Evidence runWith(LeaseTerms terms) throws IOException, InterruptedException {
    cluster.check();
    var status = LeaseFs.join(client.admin().status());
    tell("cluster ready: 1 master, " + status.nodesLive() + " nodes");
    clearFolder();
    Optional<DemoCluster.Rehearsal> rehearsal = cluster.rehearsal();
    if (rehearsal.isPresent()) {
      warmUp(rehearsal.get());
    }
    byte[] content = writeRealFile();
    AdminApi.LeaseStatus lease = createFiles();
    String chunk = lease.chunk().toString();
    String appendsChunk = lastChunk(Evidence.APPENDS).handle().toString();
    Writers appends =
        new Writers(cluster.masters(), Evidence.APPENDS, APPEND_CLIENTS, true, false, REST_NANOS);
    Writers staying =
        new Writers(cluster.masters(), Evidence.STAYING, STAYING_CLIENTS, false, false, REST_NANOS);
    try (Story story = new Story(client, Set.of(chunk, appendsChunk), beganNanos, lines)) {
      story.tell(
          "writing records to "
              + Evidence.APPENDS
              + " (chunk "
              + appendsChunk
              + ", may go on in a new one) and "
              + Evidence.STAYING
              + " (chunk "
              + chunk
              + ", must wait for it); primary of both is "
              + lease.holder());
      awaitAcknowledgements(appends, staying, System.nanoTime(), 2 * SECOND);
      story.tell(awaitPace(List.of(appends, staying)) + " acknowledged a second");
      String victim = victim(lease);
      long hit = System.nanoTime();
      hit(story, victim, terms);
      long limit = terms.grantorValidityNanos() + 2 * terms.heartbeatNanos();
      awaitAcknowledgements(appends, staying, hit + limit(terms), limit + 10 * SECOND);
      ChunkLayout now = lastChunk(Evidence.APPENDS);
      if (!now.handle().toString().equals(appendsChunk)) {
        story.tell(
            "appends went on in chunk "
                + now.handle()
                + now.primary().map(at -> " at " + at.member().server()).orElse("")
                + "; chunk "
                + appendsChunk
                + " is sealed where it stood");
      }
      heal(story, victim, hit, terms);
      List<Acknowledged> acknowledged = new ArrayList<>(appends.stop());
      acknowledged.addAll(staying.stop());
      for (Writers writers : List.of(appends, staying)) {
        for (String failure : writers.failures()) {
          story.tell("a client failed: " + failure);
        }
      }
      story.tell("reading everything back");
      compareRealFile(content);
      List<Found> found = new ArrayList<>(back.records(Evidence.APPENDS));
      found.addAll(back.records(Evidence.STAYING));
      List<Copy> copies = new ArrayList<>(copies(Evidence.APPENDS));
      copies.addAll(copies(Evidence.STAYING));
      copies.addAll(copies(REAL_FILE));
      story.tell("done");
      return new Evidence(
          facts(chunk, victim, hit, terms),
          acknowledged,
          List.of(),
          found,
          copies,
          cluster.recordedEvents());
    } finally {
      List<Acknowledged> _ = appends.stop();
      List<Acknowledged> _ = staying.stop();
    }
  }

  private void tell(String line) {
    lines.accept((System.nanoTime() - beganNanos) / 1e9, line);
  }

  /** How long after the hit the next acknowledgements of every file are sure to be new ones. */
  private long limit(LeaseTerms terms) {
    return switch (kind) {
      case FAILOVER, PAUSE -> terms.heartbeatNanos();
      // it goes on until its lease is over
      case PARTITION_MASTER -> terms.grantorValidityNanos();
      case PARTITION_PEERS, SECONDARY_FROZEN -> 2 * LeaseTerms.WRITE_TIMEOUT_NANOS;
      case DRAIN, SECONDARY_KILLED -> SECOND;
    };
  }

  private Facts facts(String chunk, String victim, long hit, LeaseTerms terms) {
    Bounds bounds = Bounds.of(kind, terms);
    return new Facts(
        kind.name().toLowerCase(Locale.ROOT),
        chunk,
        victim,
        hit,
        terms.ttlNanos(),
        terms.heartbeatNanos(),
        terms.grantorValidityNanos(),
        bounds.gapNanos(),
        bounds.appendGapNanos(),
        bounds.newPrimary());
  }

  /** Only what a demo has left there: the cluster may be in use. */
  private void clearFolder() {
    if (client.find(FOLDER).isPresent()) {
      for (Iterator<FileStatus> each = client.list(FOLDER); each.hasNext(); ) {
        FileStatus there = each.next();
        if (!OWN_FILES.matcher(there.path().toString()).matches()) {
          throw new LeaseFsException(
              ErrorCode.ALREADY_EXISTS,
              there.path() + " is no demo's: nothing was done",
              "demos write to " + FOLDER + ": move it away");
        }
      }
      client.delete(FOLDER, true, true);
    }
    var _ = client.mkdir(FOLDER, true, 0755);
  }

  private byte[] writeRealFile() throws IOException {
    byte[] content = file == null ? new byte[REAL_FILE_BYTES] : Files.readAllBytes(file);
    if (file == null) {
      new Random(7).nextBytes(content);
    }
    try (FileWriter writer = client.create(REAL_FILE)) {
      writer.write(content);
    }
    tell("wrote " + REAL_FILE + ", " + content.length + " bytes");
    return content;
  }

  private void compareRealFile(byte[] content) throws IOException {
    try (FileReader reader = client.open(REAL_FILE)) {
      byte[] back = reader.stream().readAllBytes();
      if (!Arrays.equals(content, back)) {
        throw new LeaseFsException(
            ErrorCode.CORRUPT, REAL_FILE + ": what is read back is not what was written");
      }
    }
  }

  /**
   * What is measured is a cluster at work, not JVMs that run code for the first time: some writing,
   * the death of a server, and some hand-overs in good order, of a file that is not judged.
   */
  private void warmUp(DemoCluster.Rehearsal rehearsal) throws InterruptedException {
    tell("warming up");
    String path = FOLDER + "/try-0";
    FileWriter open =
        client.create(
            path, CreateOptions.DEFAULT.withParents(true)); // closing would seal the chunk
    Writers writers = new Writers(cluster.masters(), path, APPEND_CLIENTS, false, false, 0);
    try {
      awaitAcknowledgements(writers, writers, System.nanoTime() + SECOND, 10 * SECOND);
      rehearsal.killAndRestart(secondaries(path, leaseOf(path).holder().name()).get(0));
      for (int i = 0; i < WARM_UP_HAND_OVERS; i++) {
        int _ = awaitPace(List.of(writers));
        ServerId holder = leaseOf(path).holder();
        LeaseFs.join(client.admin().drain(holder, false));
        long drained = System.nanoTime();
        awaitAcknowledgements(writers, writers, drained + SECOND / 2, 10 * SECOND);
        LeaseFs.join(client.admin().drain(holder, true));
      }
    } finally {
      List<Acknowledged> _ = writers.stop();
      open.abort();
      client.delete(path, false, true);
    }
  }

  /**
   * Two files whose open chunks have the same primary, so that one hit serves both. The master
   * spreads primaries, so tries that do not fit stay open until one fits: the next comes elsewhere.
   */
  private AdminApi.LeaseStatus createFiles() {
    FileWriter stayingWriter = client.create(Evidence.STAYING, CreateOptions.DEFAULT);
    openFiles.add(stayingWriter); // kept open: closing would seal the chunk
    AdminApi.LeaseStatus staying = leaseOf(Evidence.STAYING);
    List<FileWriter> tries = new ArrayList<>();
    try {
      for (int i = 0; i < TRIES_FOR_ONE_PRIMARY; i++) {
        String path = "/demo/try-" + i;
        FileWriter writer = client.create(path, CreateOptions.DEFAULT);
        if (leaseOf(path).holder().equals(staying.holder())) {
          openFiles.add(writer);
          var _ = client.rename(path, Evidence.APPENDS, false);
          return staying;
        }
        tries.add(writer);
      }
    } finally {
      for (int i = 0; i < tries.size(); i++) {
        tries.get(i).abort();
        client.delete("/demo/try-" + i, false, true);
      }
    }
    throw new LeaseFsException(
        ErrorCode.TIMED_OUT,
        "no two chunks with the same primary after " + TRIES_FOR_ONE_PRIMARY + " tries");
  }

  private ChunkLayout lastChunk(String path) {
    List<ChunkLayout> chunks = client.layout(path).chunks();
    return chunks.get(chunks.size() - 1);
  }

  private AdminApi.LeaseStatus leaseOf(String path) {
    ChunkHandle handle = lastChunk(path).handle();
    return LeaseFs.join(client.admin().chunk(handle))
        .lease()
        .orElseThrow(
            () -> new LeaseFsException(ErrorCode.NOT_PRIMARY, path + ": nobody holds its lease"));
  }

  private final List<FileWriter> openFiles = new ArrayList<>();

  private String victim(AdminApi.LeaseStatus lease) {
    AdminApi.LeaseStatus now =
        LeaseFs.join(client.admin().chunk(lease.chunk())).lease().orElse(lease);
    if (kind != Kind.SECONDARY_KILLED && kind != Kind.SECONDARY_FROZEN) {
      return now.holder().name();
    }
    // a secondary of both chunks, so that both files feel it
    List<String> members = secondaries(Evidence.STAYING, now.holder().name());
    members.retainAll(secondaries(Evidence.APPENDS, now.holder().name()));
    if (members.isEmpty()) {
      members = secondaries(Evidence.STAYING, now.holder().name());
    }
    return members.get(0);
  }

  private List<String> secondaries(String path, String primary) {
    List<ChunkLayout> chunks = client.layout(path).chunks();
    List<String> names = new ArrayList<>();
    chunks
        .get(chunks.size() - 1)
        .configuration()
        .members()
        .forEach(m -> names.add(m.server().name()));
    names.remove(primary);
    return names;
  }

  private void hit(Story story, String victim, LeaseTerms terms) {
    switch (kind) {
      case FAILOVER, SECONDARY_KILLED -> {
        story.tell("SIGKILL " + victim);
        cluster.kill(victim);
      }
      case PAUSE -> {
        story.tell("SIGSTOP " + victim);
        cluster.freeze(victim, terms.grantorValidityNanos() + SECOND);
      }
      case SECONDARY_FROZEN -> {
        story.tell("SIGSTOP " + victim);
        cluster.freeze(victim, limit(terms) + SECOND);
      }
      case PARTITION_MASTER -> {
        story.tell("cut " + victim + " off from the master");
        fault(victim, "cut", List.of("master", "both"));
      }
      case PARTITION_PEERS -> {
        story.tell("cut " + victim + " off from its secondaries");
        for (String peer : secondaries(Evidence.STAYING, victim)) {
          fault(victim, "cut", List.of(peer, "both"));
        }
      }
      case DRAIN -> {
        story.tell("drain " + victim);
        LeaseFs.join(client.admin().drain(new ServerId(victim), false));
      }
    }
  }

  private void heal(Story story, String victim, long hit, LeaseTerms terms)
      throws InterruptedException {
    switch (kind) {
      case PAUSE -> {
        long past = hit + terms.grantorValidityNanos() + SECOND - System.nanoTime();
        NANOSECONDS.sleep(Math.max(0, past));
        cluster.thaw(victim);
        story.tell("SIGCONT " + victim + ": its lease is over");
        NANOSECONDS.sleep(2 * SECOND); // what it still held back must be refused now
      }
      case SECONDARY_FROZEN -> {
        cluster.thaw(victim);
        story.tell("SIGCONT " + victim);
        NANOSECONDS.sleep(SECOND);
      }
      case PARTITION_MASTER, PARTITION_PEERS -> {
        story.tell("heal");
        fault(victim, "heal", List.of());
        NANOSECONDS.sleep(SECOND);
      }
      case DRAIN -> LeaseFs.join(client.admin().drain(new ServerId(victim), true));
      case FAILOVER, SECONDARY_KILLED -> {}
    }
  }

  private void fault(String server, String command, List<String> arguments) {
    for (AdminApi.NodeStatus node : LeaseFs.join(client.admin().nodes())) {
      if (node.server().name().equals(server)) {
        LeaseFs.join(client.chunkServer(node.address()).fault(command, arguments));
      }
    }
  }

  /**
   * Until both files have acknowledged something after {@code from}, and a second of writing more.
   */
  private static void awaitAcknowledgements(
      Writers appends, Writers staying, long from, long limitNanos) throws InterruptedException {
    long deadline = System.nanoTime() + limitNanos + 2 * SECOND;
    while (System.nanoTime() < deadline
        && (appends.newestAcknowledgementNanos() <= from
            || staying.newestAcknowledgementNanos() <= from)) {
      NANOSECONDS.sleep(20 * MILLION);
    }
    NANOSECONDS.sleep(SECOND);
  }

  /**
   * Until writing is as fast as it gets: servers that have just started run code for the first
   * time, and what is measured is a cluster at work. A cluster that was at work already is so at
   * once.
   *
   * @return records acknowledged in the last second
   */
  private static int awaitPace(List<Writers> writers) throws InterruptedException {
    int before = 0;
    for (int second = 1; ; second++) {
      int begun = writers.stream().mapToInt(Writers::count).sum();
      NANOSECONDS.sleep(SECOND);
      int pace = writers.stream().mapToInt(Writers::count).sum() - begun;
      if (second >= MOST_WARM_UP_SECONDS || (before > 0 && pace <= before * 11 / 10)) {
        return pace;
      }
      before = pace;
    }
  }

  /** Every replica's bytes, as that very server gives them. */
  private List<Copy> copies(String path) {
    for (FileWriter open : openFiles) {
      open.close();
    }
    openFiles.clear();
    return back.copies(path);
  }
}
