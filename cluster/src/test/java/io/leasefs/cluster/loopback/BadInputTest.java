package io.leasefs.cluster.loopback;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.chunkserver.ChunkServerMain;
import io.leasefs.client.LeaseFs;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.master.MasterMain;
import java.io.ByteArrayInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What users and operators get wrong: each ends with its exit code and one clear line. */
@Timeout(60)
class BadInputTest {
  private static final int CHUNK = (int) InProcessCluster.CHUNK_BYTES;

  private static InProcessCluster cluster;
  private static Shell shell;

  @TempDir Path local;

  @BeforeAll
  static void start() throws Exception {
    cluster = InProcessCluster.start(3);
    shell = cluster.shell();
    put("/file", "content".getBytes(UTF_8));
  }

  @AfterAll
  static void stop() {
    cluster.close();
  }

  private static void put(String path, byte[] content) {
    shell.pipe(content, "put", "-", path).mustBe(0);
  }

  private static byte[] noise(int length) {
    byte[] bytes = new byte[length];
    new Random(length).nextBytes(bytes);
    return bytes;
  }

  // ---------------------------------------------------------------- paths

  @Test
  void unknownPathIsNotFoundWhateverTheVerb() {
    for (String verb : List.of("ls", "stat", "cat", "head", "tail", "rm", "du", "checksum")) {
      shell.run(verb, "/no/such").mustFail(3, "leasefs: " + verb + ": /no/such");
    }
    shell.run("get", "/no/such", "-").mustFail(3, "/no/such");
    shell.run("mv", "/no/such", "/other").mustFail(3, "/no/such");
    shell.run("chunk", "ls", "/no/such").mustFail(3, "/no/such");
    shell.run("chunk", "get", "0x7777").mustFail(3, "0x7777");
    shell.run("put", local.resolve("none").toString(), "/x").mustFail(3, "no such local file");
    assertThat(shell.run("stat", "/no/such").err())
        .contains("hint: 'leasefs ls -1 /no' tells what is there");
    assertThat(shell.run("ls", "/*.log").err())
        .contains("hint: patterns are not expanded: 'leasefs ls -1 /' tells what is there");
  }

  @Test
  void pathThatCannotBeIsWrongUsage() {
    shell.run("cat", "/a/../file").mustFail(2, "/a/../file: not a valid path");
    shell.run("mkdir", "/a/./b").mustFail(2, "not a valid path");
    shell.run("cat", "file").mustFail(2, "file: not a valid path");
    shell.run("cat", "/a//b").mustFail(2, "not a valid path");
    shell.pipe(new byte[1], "put", "-", "/nul\0inside").mustFail(2, "/nul\\0inside");
    String name = "x".repeat(255);
    shell.run("touch", "/" + name).mustBe(0);
    shell.run("get", "/" + name, local.toString()).mustBe(0);
    shell.run("touch", "/" + name + "x").mustFail(2, "not a valid path");
    shell.run("touch", "/" + "ü".repeat(128)).mustFail(2, "not a valid path");
    shell.run("touch", "/a".repeat(3000)).mustFail(2, "not a valid path");
  }

  @Test
  void parentThatIsMissingOrAFileIsTold() {
    CommandLineRun missing = shell.pipe(new byte[1], "put", "-", "/missing/file");
    missing.mustFail(3, "leasefs: put: /missing/file: parent directory does not exist");
    assertThat(missing.err()).contains("hint: create it with 'leasefs mkdir -p /missing'");
    shell.pipe(new byte[1], "put", "-", "/file/below").mustFail(4, "/file");
    shell.run("mkdir", "-p", "/file/below").mustFail(4, "/file");
    shell.run("touch", "/file/below").mustFail(4, "/file");
    shell.run("cat", "/").mustFail(4, "/: is a folder");
  }

  @Test
  void reservedNameIsRefused() {
    String reserved = "/.leasefs-put-mine";
    shell.pipe(new byte[1], "put", "-", reserved).mustFail(2, reserved + ": not a valid path");
    shell.run("touch", reserved).mustFail(2, reserved);
    shell.run("mkdir", reserved).mustFail(2, reserved);
    shell.run("mv", "/file", reserved).mustFail(2, reserved);
    assertThat(shell.run("cat", "/file").out()).isEqualTo("content");
  }

  @Test
  void nameThatCouldNotBeDecodedIsRefused() {
    CommandLineRun undecoded = shell.run("touch", "/a\uFFFDb");
    undecoded.mustFail(2, "not a valid path");
    assertThat(undecoded.err()).contains("not UTF-8");
  }

  @Test
  void existingTargetIsLeftAlone() {
    shell.pipe(new byte[1], "put", "-", "/file").mustFail(4, "/file: exists already");
    shell.run("mkdir", "/file").mustFail(4, "/file: exists already");
    shell.run("mkdir", "-p", "/dir").mustBe(0);
    shell.run("mkdir", "/dir").mustFail(4, "/dir: exists already");
    shell.run("mkdir", "-p", "/dir").mustBe(0);
    shell.pipe(new byte[1], "put", "-", "/dir").mustFail(4, "/dir: is a folder");
    assertThat(shell.run("cat", "/file").out()).isEqualTo("content");
    assertThat(shell.run("ls", "-o", "name", "/dir").out()).isEmpty();
  }

  @Test
  void badOptionIsWrongUsage() {
    shell.run("--timeout", "soon", "ls").mustFail(2, "not a duration: 'soon'");
    shell.run("cat", "--offset", "many", "/file").mustFail(2, "not a size: 'many'");
    shell.run("setrep", "0", "/file").mustFail(2, "replication is 1 to 16, not 0");
    shell.run("setrep", "17", "/file").mustFail(2, "replication is 1 to 16, not 17");
    shell.pipe(new byte[1], "put", "--chunk-size", "1KiB", "-", "/x").mustFail(2, "1 MiB to 1 GiB");
    shell.run("-m", "nonsense", "ls").mustFail(2, "nonsense");
    new Shell(Map.of("HOME", local.toString()))
        .run("--context", "nowhere", "ls")
        .mustFail(2, "no context named 'nowhere'");
    shell.run("wait", "--for", "luck").mustFail(2, "not a condition: 'luck'");
  }

  /** Fails unless it is told so, in words that a user of the command line knows. */
  private static void mustBeTold(CommandLineRun run, String... parts) {
    assertThat(run.mustBe(2).out()).isEmpty();
    assertThat(run.err())
        .contains(parts)
        .doesNotContain("a bug", "index", "positional", "Exception", "is not an int");
    assertThat(run.err().lines()).hasSize(2);
  }

  @Test
  void wrongUsageIsToldInPlainWords() {
    mustBeTold(shell.run("put", "x"), "put: SRC... DST: at least 2 are needed");
    mustBeTold(shell.run("cat"), "cat: PATH is missing");
    mustBeTold(shell.run("mkdir", "--nonsense", "/x"), "no such option: --nonsense");
    mustBeTold(shell.run("stat", "--frmat", "x", "/"), "Did you mean: leasefs stat --format?");
    mustBeTold(shell.run("setrep", "many", "/file"), "N: 'many' is not a whole number");
    mustBeTold(shell.run("-o", "zip", "ls"), "--output: 'zip' is none of: table, wide, json");
    mustBeTold(shell.run("ls", "--timeout"), "--timeout: its DURATION is missing");
    mustBeTold(shell.run("wait"), "--for WHAT is needed");
    mustBeTold(shell.run("test", "/file"), "one of these is needed: -e, -f, -d, -s, -z");
    mustBeTold(shell.run("test", "-e", "-d", "/file"), "only one of these can be given");
    mustBeTold(shell.run("test", "-e", "/file", "/more"), "'/more' is one word too many");
    mustBeTold(shell.run("help", "nosuch"), "no such verb: nosuch", "hint: see 'leasefs help'");
    mustBeTold(shell.run("banana"), "no such verb: banana", "hint: see 'leasefs help'");
    mustBeTold(shell.run("lease", "help"), "Did you mean: leasefs lease --help?");
    mustBeTold(shell.run("ls", ""), "'': not a valid path", "paths begin with '/'");
    mustBeTold(shell.run("cat", "-"), "not standard input", "leasefs put - PATH");
    mustBeTold(shell.run("head", "-n", "-1", "/file"), "-n: -1 is below 0");
    mustBeTold(shell.run("put", "/a\0b", "/x"), "'/a\\0b' is no path of a local file");
    mustBeTold(shell.run("chunk", "get", "0xffffffffffffffff"), "not a chunk handle");
    mustBeTold(shell.run("fault", "freeze", "cs1", "1s"), "not confirmed", "hint: add --yes");
    CommandLineRun json = shell.run("ls", "--json", "--nonsense").mustBe(2);
    assertThat(json.err())
        .startsWith("{\"error\":{\"code\":\"INVALID_ARGUMENT\",\"exit\":2,\"command\":\"ls\",");
  }

  @Test
  void variableThatCannotBeReadIsNamed() {
    Map<String, String> wrong =
        Map.of("LEASEFS_OUTPUT", "zip", "LEASEFS_TIMEOUT", "soon", "LEASEFS_DEADLINE", "never");
    wrong.forEach(
        (name, value) ->
            new Shell(
                    Map.of(
                        "HOME",
                        local.toString(),
                        "LEASEFS_MASTER",
                        cluster.masterAddress().toString(),
                        name,
                        value))
                .run("ls", "/")
                .mustFail(2, name, "'" + value + "'"));
    new Shell(Map.of("HOME", local.toString(), "LEASEFS_MASTER", "nonsense"))
        .run("ls", "/")
        .mustFail(2, "LEASEFS_MASTER: not an address: 'nonsense'");
  }

  @Test
  void toolsRefuseWhatCannotBeBeforeTheyBegin() {
    mustBeTold(shell.run("simulate", "--seeds", "5..1"), "--seeds 5..1", "--seeds 1..5");
    mustBeTold(shell.run("torture", "0s"), "0s is too short");
    mustBeTold(shell.run("torture", "1s", "--ttl", "0"), "--ttl: a lease time of 0");
    mustBeTold(shell.run("demo", "pause", "--ttl", "1ms"), "--ttl: a lease time of 1ms");
    mustBeTold(shell.run("bench", "banana"), "no workload named 'banana'", " m1 ttl");
    mustBeTold(shell.run("bench", "--files", "-1", "s1"), "--files: -1");
  }

  @Test
  void usualFlagsAreUnderstood() {
    assertThat(shell.run("-h").mustBe(0).out()).isEqualTo(shell.run("help").mustBe(0).out());
    assertThat(shell.run("put", "-h").mustBe(0).out()).startsWith("Usage: leasefs put");
    assertThat(shell.run("--version").mustBe(0).out())
        .isEqualTo(shell.run("version").mustBe(0).out());
    assertThat(shell.run("ls", "-la", "/").mustBe(0).out()).contains("/file");
    assertThat(shell.run("ls", "-h", "/").mustBe(0).out()).contains(" B ");
  }

  // ---------------------------------------------------------------- contents

  @Test
  void emptyFileAndFileOfExactlyOneChunkAreWhole() {
    put("/empty", new byte[0]);
    assertThat(shell.run("cat", "/empty").mustBe(0).outBytes()).isEmpty();
    assertThat(shell.run("checksum", "/empty").mustBe(0).out()).isEqualTo("00000000  0  /empty\n");
    byte[] content = noise(CHUNK);
    put("/exact", content);
    assertThat(shell.run("cat", "/exact").mustBe(0).outBytes()).isEqualTo(content);
    assertThat(shell.run("chunk", "ls", "-o", "name", "/exact").outLines()).hasSize(1);
    shell.pipe(new byte[] {7}, "append", "-", "/exact").mustBe(0);
    byte[] longer = Arrays.copyOf(content, CHUNK + 1);
    longer[CHUNK] = 7;
    assertThat(shell.run("cat", "/exact").mustBe(0).outBytes()).isEqualTo(longer);
  }

  @Test
  void recordTooLargeIsRefusedAndTheOthersStay() {
    shell.run("touch", "/records").mustBe(0);
    shell.pipe(new byte[(1 << 20) + 1], "record", "-", "/records").mustFail(2, "more than 1 MiB");
    byte[] two = new byte[(1 << 20) + 10];
    Arrays.fill(two, (byte) 'x');
    two[1] = '\n';
    CommandLineRun run = shell.pipe(two, "record", "--per-line", "-", "/records").mustBe(2);
    assertThat(run.err()).contains("more than 1 MiB");
    assertThat(shell.run("cat", "/records").mustBe(0).out()).isIn("", "x\n");
  }

  @Test
  void putThatFailsHalfwayLeavesNothing() {
    InputStream failing =
        new SequenceInputStream(
            new ByteArrayInputStream(noise(2 * CHUNK)),
            new FilterInputStream(InputStream.nullInputStream()) {
              @Override
              public int read() throws IOException {
                throw new IOException("the disk of the source has gone");
              }

              @Override
              public int read(byte[] into, int offset, int length) throws IOException {
                return read();
              }
            });
    shell.run("mkdir", "/half").mustBe(0);
    CommandLineRun run = shell.pipe(failing, "put", "-", "/half/file");
    assertThat(run.exit()).isNotZero();
    assertThat(run.err()).contains("the disk of the source has gone");
    shell.run("stat", "/half/file").mustFail(3, "/half/file");
    shell.run("rmdir", "/half").mustBe(0);
  }

  // ---------------------------------------------------------------- servers

  @Test
  void unreachableMasterIsToldWithinTheTimeLimit() throws Exception {
    int port;
    try (ServerSocket free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    long begun = System.nanoTime();
    new Shell(Map.of("HOME", local.toString()))
        .run("-m", "127.0.0.1:" + port, "--timeout", "500ms", "ls", "/")
        .mustFail(6, "127.0.0.1:" + port);
    assertThat(System.nanoTime() - begun).isLessThan(10_000_000_000L);
    new Shell(Map.of("HOME", local.toString())).run("ls", "/").mustFail(2, "no master is known");
  }

  @Test
  void unknownHostIsToldAtOnceAndSilenceIsBrokenOnce() throws Exception {
    Shell anywhere = new Shell(Map.of("HOME", local.toString()));
    CommandLineRun unknown =
        anywhere.run("-m", "no-such-host.invalid:7000", "--timeout", "1h", "ls", "/");
    unknown.mustFail(6, "no-such-host.invalid:7000", "there is no host named");
    int port;
    try (ServerSocket free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    CommandLineRun silent =
        anywhere.run("-m", "127.0.0.1:" + port, "--timeout", "4s", "rm", "/a", "/b").mustBe(6);
    assertThat(silent.err().lines()).hasSize(3);
    assertThat(silent.err())
        .startsWith("leasefs: no answer from 127.0.0.1:" + port + " yet (connection refused");
    assertThat(
            anywhere
                .run("-q", "-m", "127.0.0.1:" + port, "--timeout", "3s", "ls", "/")
                .mustBe(6)
                .err())
        .startsWith("leasefs: ls: ");
    assertThat(anywhere.run("rm", "/a", "/b").mustBe(2).err().lines()).hasSize(2);
  }

  @Test
  void contextThatHasGoneGivesWayToTheOnlyOtherOne() throws Exception {
    Path config = local.resolve("config.yaml");
    Shell elsewhere =
        new Shell(Map.of("HOME", local.toString(), "LEASEFS_CONFIG", config.toString()));
    String real = "  real:\n    masters:\n    - " + cluster.masterAddress() + "\n";
    Files.writeString(config, "current: gone\ncontexts:\n" + real);
    elsewhere.run("ls", "/").mustBe(0);
    String other = "  other:\n    masters:\n    - 127.0.0.1:1\n";
    Files.writeString(config, "current: gone\ncontexts:\n" + other + real);
    CommandLineRun several = elsewhere.run("ls", "/");
    several.mustFail(2, "no context is in use", "other, real");
    assertThat(several.err()).contains("leasefs context use other");
    elsewhere.run("context", "use", "real").mustBe(0);
    elsewhere.run("context", "use", "other").mustBe(0);
    CommandLineRun dead = elsewhere.run("--timeout", "500ms", "ls", "/");
    dead.mustFail(6, "127.0.0.1:1");
    assertThat(dead.err()).contains("context 'other' (", "leasefs context rm other");
    elsewhere.run("context", "rm", "other").mustBe(0);
    elsewhere.run("ls", "/").mustBe(0);
  }

  @Test
  void fewerServersThanTheGoalIsToldAndTooFewAreRefused() throws Exception {
    shell.pipe(new byte[10], "put", "--replication", "5", "-", "/five").mustBe(0);
    assertThat(shell.run("chunk", "verify", "/five").mustBe(0).outLines())
        .hasSizeBetween(3, 4); // a header and two or three copies
    assertThat(shell.run("fsck", "/five").out()).contains("/five");
    shell.run("status", "--check").mustBe(10);
    shell.run("rm", "--skip-trash", "/five").mustBe(0);
    try (InProcessCluster small = InProcessCluster.start(1)) {
      small
          .shell()
          .pipe(new byte[10], "--timeout", "1s", "put", "-", "/three")
          .mustFail(9, "at least 2 chunkservers");
      small.shell().run("stat", "/three").mustFail(3, "/three");
      small.shell().pipe(new byte[10], "put", "--replication", "1", "-", "/one").mustBe(0);
    }
  }

  /** The one line that a server refuses to start with. */
  private static LeaseFsException refusal(ErrorCode code, Start start) {
    LeaseFsException[] refusal = new LeaseFsException[1];
    assertThatThrownBy(start::run)
        .isInstanceOfSatisfying(LeaseFsException.class, e -> refusal[0] = e);
    assertThat(refusal[0].code()).as(refusal[0].getMessage()).isEqualTo(code);
    assertThat(refusal[0].getMessage()).isNotNull().doesNotContain("\n");
    assertThat(refusal[0].hint()).isNotNull();
    return refusal[0];
  }

  private interface Start {
    void run() throws Exception;
  }

  private static void startMaster(Path data, String... more) throws Exception {
    List<String> flags =
        Stream.concat(Stream.of("--data", data.toString()), listening(more)).toList();
    MasterMain.within(flags).close();
  }

  private static Stream<String> listening(String... more) {
    return List.of(more).contains("--listen")
        ? Stream.of(more)
        : Stream.concat(Stream.of("--listen", "127.0.0.1:0"), Stream.of(more));
  }

  private static void startChunkServer(String name, Path data, String... more) throws Exception {
    List<String> flags = new ArrayList<>(List.of("--name", name, "--data", data.toString()));
    listening(more).forEach(flags::add);
    if (!flags.contains("--master")) {
      flags.addAll(List.of("--master", "127.0.0.1:1")); // nobody is there
    }
    ChunkServerMain.within(flags).close();
  }

  @Test
  void folderOfAnotherServerIsRefused() {
    assertThat(refusal(ErrorCode.INVALID_ARGUMENT, () -> startMaster(cluster.folder("cs1"))))
        .hasMessageContaining("in use");
    Path mine = local.resolve("cs8");
    try {
      startChunkServer("cs8", mine);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
    assertThat(refusal(ErrorCode.INVALID_ARGUMENT, () -> startChunkServer("cs9", mine)))
        .hasMessageContaining("belongs to chunkserver cs8, not to chunkserver cs9");
    assertThat(refusal(ErrorCode.INVALID_ARGUMENT, () -> startMaster(mine)))
        .hasMessageContaining("belongs to chunkserver cs8, not to master master1");
  }

  @Test
  void wrongClusterIsRefused() throws Exception {
    assertThat(
            refusal(
                ErrorCode.INVALID_ARGUMENT,
                () -> startMaster(local.resolve("m"), "--cluster-id", "not a name")))
        .hasMessageContaining("not a name");
    Path master = local.resolve("master");
    startMaster(master, "--cluster-id", "one");
    assertThat(
            refusal(ErrorCode.WRONG_CLUSTER, () -> startMaster(master, "--cluster-id", "another")))
        .hasMessageContaining("belongs to cluster one, not to another");
    startChunkServer(
        "cs7",
        local.resolve("cs7"),
        "--cluster-id",
        "one",
        "--master",
        cluster.masterAddress().toString());
    assertThat(shell.run("node", "ls", "-o", "name").outLines()).doesNotContain("cs7");
  }

  @Test
  void contextOfAnotherClusterIsRefused() throws Exception {
    Path config = local.resolve("config.yaml");
    Shell elsewhere =
        new Shell(Map.of("HOME", local.toString(), "LEASEFS_CONFIG", config.toString()));
    String context =
        "current: lab\ncontexts:\n  lab:\n    masters:\n    - "
            + cluster.masterAddress()
            + "\n    cluster: ";
    Files.writeString(config, context + "another\n");
    elsewhere.run("ls", "/").mustFail(2, "is of cluster ", ", not another");
    elsewhere.pipe(new byte[1], "put", "-", "/x").mustFail(2, "is of cluster ", ", not another");
    elsewhere.run("-m", cluster.masterAddress().toString(), "ls", "/").mustBe(0);
    try (LeaseFs client = cluster.client()) {
      Files.writeString(config, context + client.greeting().clusterId() + "\n");
    }
    elsewhere.run("ls", "/").mustBe(0);
    assertThat(elsewhere.run("context", "ls").mustBe(0).out()).contains("CLUSTER");
  }

  @Test
  void oneMissingLocalFileOfSeveralIsToldAndTheOthersArePut() throws Exception {
    Path there = Files.writeString(local.resolve("there"), "here");
    shell.run("mkdir", "/several").mustBe(0);
    CommandLineRun run =
        shell.run("put", local.resolve("none").toString(), there.toString(), "/several").mustBe(1);
    assertThat(run.err()).contains("none: no such local file");
    assertThat(shell.run("cat", "/several/there").mustBe(0).out()).isEqualTo("here");
    shell
        .run("append", local.resolve("none").toString(), "/file")
        .mustFail(3, "no such local file");
  }

  @Test
  void portInUseIsRefused() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, java.net.InetAddress.getLoopbackAddress())) {
      String address = "127.0.0.1:" + taken.getLocalPort();
      assertThat(
              refusal(
                  ErrorCode.INVALID_ARGUMENT,
                  () -> startMaster(local.resolve("m"), "--listen", address)))
          .hasMessageContaining(address);
      assertThat(
              refusal(
                  ErrorCode.INVALID_ARGUMENT,
                  () -> startChunkServer("cs6", local.resolve("c"), "--listen", address)))
          .hasMessageContaining(address);
    }
  }

  @Test
  void folderOfANewerFormatIsRefusedAndLeftAsItIs() throws Exception {
    Path folder = Files.createDirectories(local.resolve("newer"));
    String body = "format: 99\nof: the future\n";
    CRC32C crc = new CRC32C();
    crc.update(body.getBytes(UTF_8));
    String content = body + String.format("crc32c: %08x\n", crc.getValue());
    Files.writeString(folder.resolve("VERSION"), content);
    assertThat(refusal(ErrorCode.INVALID_ARGUMENT, () -> startMaster(folder)))
        .hasMessageContaining("format 99");
    assertThat(refusal(ErrorCode.INVALID_ARGUMENT, () -> startChunkServer("cs5", folder)))
        .hasMessageContaining("format 99");
    assertThat(folder.resolve("VERSION")).hasContent(content);
  }

  @ParameterizedTest
  @ValueSource(strings = {"disk", "server"})
  void damagedFileOfAChunkserverIsRefusedAndLeftAsItIs(String name) throws Exception {
    Path data = local.resolve("damaged");
    startChunkServer("cs5", data, "--cluster-id", "c1");
    Path file = data.resolve(name);
    byte[] bytes = Files.readAllBytes(file);
    bytes[bytes.length / 2] ^= 0x01;
    Files.write(file, bytes);
    LeaseFsException refusal =
        refusal(ErrorCode.CORRUPT, () -> startChunkServer("cs5", data, "--cluster-id", "c1"));
    assertThat(refusal).hasMessageContaining(data + ": the file '" + name + "'");
    assertThat(refusal.hint()).contains("nothing was changed", "leasefs fsck");
    assertThat(refusal.code().exitCode()).isEqualTo(7);
    assertThat(Files.readAllBytes(file)).isEqualTo(bytes);
  }

  @Test
  void damagedOperationLogIsRefusedAndLeftAsItIs() throws Exception {
    try (InProcessCluster other = InProcessCluster.start(0)) {
      for (int i = 0; i < 20; i++) {
        other.shell().run("mkdir", "/folder" + i).mustBe(0);
      }
      Path copy = local.resolve("copy");
      copyFolder(other.masterFolder(), copy);
      Path log;
      try (Stream<Path> all = Files.walk(copy)) {
        log =
            all.filter(path -> String.valueOf(path.getFileName()).startsWith("log_inprogress"))
                .findFirst()
                .orElseThrow();
      }
      byte[] bytes = Files.readAllBytes(log);
      bytes[1000] ^= 0x10;
      Files.write(log, bytes);
      LeaseFsException refusal = refusal(ErrorCode.CORRUPT, () -> startMaster(copy));
      assertThat(refusal).hasMessageContaining(copy.toString());
      assertThat(refusal.hint()).contains("backup");
      assertThat(refusal.code().exitCode()).isEqualTo(7);
      assertThat(Files.readAllBytes(log)).isEqualTo(bytes);
    }
  }

  @Test
  void masterWhoseLogIsGoneIsRefused() throws Exception {
    Path data = local.resolve("founded");
    startMaster(data);
    try (Stream<Path> all = Files.walk(data.resolve("log"))) {
      for (Path path : all.sorted((a, b) -> b.compareTo(a)).toList()) {
        Files.delete(path);
      }
    }
    LeaseFsException refusal = refusal(ErrorCode.CORRUPT, () -> startMaster(data));
    assertThat(refusal).hasMessageContaining(data.resolve("log") + " is missing");
    assertThat(data.resolve("log")).doesNotExist();
  }

  private static void copyFolder(Path from, Path to) throws IOException {
    try (Stream<Path> all = Files.walk(from)) {
      for (Path path : (Iterable<Path>) all::iterator) {
        Path copy = to.resolve(from.relativize(path));
        if (Files.isDirectory(path)) {
          Files.createDirectories(copy);
        } else if (!"lock".equals(String.valueOf(path.getFileName()))
            && !"in_use.lock".equals(String.valueOf(path.getFileName()))) {
          Files.copy(path, copy);
        }
      }
    }
  }
}
