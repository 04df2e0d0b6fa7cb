package io.leasefs.cluster;

import io.leasefs.chunkserver.ChunkServerMain;
import io.leasefs.client.LeaseFs;
import io.leasefs.client.LeaseFsConfig;
import io.leasefs.client.RecordAppender;
import io.leasefs.client.cli.ContextFile;
import io.leasefs.client.cli.Streams;
import io.leasefs.cluster.mini.TemporaryFolders;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.master.MasterMain;
import io.leasefs.server.start.ServerProcess;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Does once what servers and verbs do, while the JVM records which classes and how much compiled
 * code that takes: {@code bin/leasefs} runs it with {@code -XX:AOTCacheOutput}, and later runs
 * start from the cache.
 *
 * <p>{@code servers} is a whole cluster in this JVM, in a temporary folder: it prints its address,
 * works a while, among other things on hand-overs of leases, and ends when its standard input does.
 * {@code short ADDRESS} and {@code data ADDRESS} are the verbs of a kind, against that cluster.
 * What a verb prints is not kept, and one that fails harms nothing: it is only less prepared.
 */
public final class StartupRehearsalMain {
  private static final String HOST = "127.0.0.1:0";
  private static final int CHUNK_SERVERS = 4;
  private static final int ROUNDS = 12;
  private static final byte[] RECORDS = "a record\n".repeat(2_000).getBytes(StandardCharsets.UTF_8);
  private static final byte[] CONTENT = new byte[3 << 20];

  private StartupRehearsalMain() {}

  public static void main(String[] arguments) throws Exception {
    switch (arguments[0]) {
      case "servers" -> servers();
      case "short" -> Verbs.at(arguments[1]).look();
      case "data" -> Verbs.at(arguments[1]).move();
      default -> throw new IllegalArgumentException(arguments[0]);
    }
    System.exit(0);
  }

  private static void servers() throws Exception {
    Path folder = Files.createTempDirectory("leasefs-rehearsal");
    List<ServerProcess> running = new ArrayList<>();
    try {
      List<String> master = new ArrayList<>(List.of("--id", "1", "--listen", HOST));
      master.addAll(List.of("--data", folder.resolve("master").toString()));
      running.add(MasterMain.within(master));
      String address = String.valueOf(running.getFirst().facts().get("address"));
      for (int i = 1; i <= CHUNK_SERVERS; i++) {
        List<String> flags = new ArrayList<>(List.of("--name", "cs" + i, "--rack", "r" + i % 2));
        flags.addAll(List.of("--data", folder.resolve("cs" + i).toString(), "--listen", HOST));
        flags.addAll(List.of("--master", address));
        running.add(ChunkServerMain.within(flags));
      }
      Verbs verbs = Verbs.at(address);
      verbs.run("wait", "--for", "nodes=" + CHUNK_SERVERS, "--timeout", "20s");
      verbs.move();
      verbs.handOver();
      System.out.println(address);
      System.out.flush();
      while (System.in.read() >= 0) {
        // it says nothing; its end is the sign
      }
    } finally {
      running.reversed().forEach(ServerProcess::close);
      TemporaryFolders.remove(folder);
    }
  }

  /** Verbs in this JVM, their output thrown away. */
  private record Verbs(String master, Path context) {
    /** Finds the master as people do: by a context in use. */
    static Verbs at(String master) throws IOException {
      Path file = Files.createTempFile("leasefs-rehearsal", ".yaml");
      file.toFile().deleteOnExit();
      ContextFile.read(file)
          .with("rehearsal", new ContextFile.Context(List.of(master), "", Optional.empty()), true)
          .write();
      return new Verbs(master, file);
    }

    /** Those that ask and print. */
    void look() {
      run("version");
      run("--help");
      run("ls", "--help");
      run("ls", "/");
      run("ls", "-l", "/");
      run("--json", "ls", "/");
      for (String verb : List.of("stat", "tree", "du", "df")) {
        run(verb, "/");
      }
      run("--json", "stat", "/rehearsal/records");
      run("mkdir", "-p", "/rehearsal/folder");
      run("mv", "/rehearsal/folder", "/rehearsal/other");
      run("rm", "-r", "/rehearsal/other");
      run("test", "-e", "/rehearsal");
      run("head", "/rehearsal/records");
      run("status");
      run("--json", "status");
      run("why", "/rehearsal/records");
      run("events");
      run("lease", "ls");
      run("lease", "get", "/rehearsal/records");
      run("chunk", "ls", "/rehearsal/records");
      run("node", "ls");
      run("trash", "ls");
      run("context", "ls");
      run("ls", "/no/such/path");
      run("ls", "--no-such-option");
    }

    /** Those that move bytes. */
    void move() throws Exception {
      Path folder = Files.createTempDirectory("leasefs-rehearsal");
      try {
        String there = "/rehearsal/" + ProcessHandle.current().pid();
        Path source = Files.createDirectories(folder.resolve("source"));
        Files.write(source.resolve("content"), CONTENT);
        for (int i = 0; i < ROUNDS; i++) {
          Files.write(source.resolve("small" + i), RECORDS);
        }
        run("mkdir", "-p", there);
        run("put", source.resolve("content").toString(), there + "/content");
        run("put", "-r", source.toString(), there + "/folder");
        run(CONTENT, "put", "-", there + "/piped");
        run(RECORDS, "append", "-", there + "/piped");
        run(RECORDS, "record", "--create", "--per-line", "-", "/rehearsal/records");
        run("cat", there + "/content");
        run("get", there + "/content", folder.resolve("back").toString());
        run("get", "-r", there + "/folder", folder.resolve("folder").toString());
        run("cp", there + "/content", there + "/copy");
        run("checksum", there + "/content");
        run("fsck", there);
      } finally {
        TemporaryFolders.remove(folder);
      }
    }

    /** Leases that move from server to server under load, as when one is emptied or lost. */
    void handOver() {
      try (LeaseFs files = LeaseFs.connect(LeaseFsConfig.of(List.of(ServerAddress.parse(master))));
          RecordAppender records = files.recordAppender("/rehearsal/records")) {
        for (int i = 0; i < ROUNDS; i++) {
          String server = "cs" + (1 + i % CHUNK_SERVERS);
          records.append(ByteBuffer.wrap(RECORDS));
          run("node", "drain", server, "--yes");
          for (int j = 0; j < ROUNDS; j++) {
            records.append(ByteBuffer.wrap(RECORDS));
          }
          run("node", "undrain", server);
        }
      }
    }

    void run(String... words) {
      run(new byte[0], words);
    }

    void run(byte[] input, String... words) {
      InputStream in = new ByteArrayInputStream(input);
      PrintStream err =
          new PrintStream(OutputStream.nullOutputStream(), true, StandardCharsets.UTF_8);
      OutputStream out = OutputStream.nullOutputStream();
      Map<String, String> environment = Map.of("LEASEFS_CONFIG", context.toString());
      int exitCode =
          LeaseFsMain.cli(new Streams(in, out, err, false, false, false, environment)).run(words);
      System.err.println(exitCode + " " + Arrays.toString(words));
    }
  }
}
