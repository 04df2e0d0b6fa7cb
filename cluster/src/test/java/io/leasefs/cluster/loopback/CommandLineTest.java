package io.leasefs.cluster.loopback;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import io.leasefs.client.LeaseFs;
import io.leasefs.client.RecordAppender;
import io.leasefs.common.model.AppendResult;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The verbs, run as the program runs them, against four real chunkservers. */
@Timeout(60)
class CommandLineTest {
  private static final int CHUNK = (int) InProcessCluster.CHUNK_BYTES;

  private static InProcessCluster cluster;
  private static Shell shell;

  @TempDir Path local;

  @BeforeAll
  static void start() throws Exception {
    cluster = InProcessCluster.start(4);
    shell = cluster.shell();
  }

  @AfterAll
  static void stop() {
    cluster.close();
  }

  /** Runs and must end well. */
  private static CommandLineRun ok(String... arguments) {
    return shell.run(arguments).mustBe(0);
  }

  private static void put(String path, byte[] content) {
    CommandLineRun run = shell.pipe(content, "put", "-", path).mustBe(0);
    assertThat(run.out()).isEmpty();
  }

  private static void put(String path, String content) {
    put(path, content.getBytes(UTF_8));
  }

  private static byte[] noise(int length) {
    byte[] bytes = new byte[length];
    new Random(length).nextBytes(bytes);
    return bytes;
  }

  @Test
  void standardInputGoesInAndComesOutUnchanged() {
    byte[] content = noise(5 * CHUNK / 2 + 17);
    put("/pipe.bin", content);
    assertThat(ok("get", "/pipe.bin", "-").outBytes()).isEqualTo(content);
    assertThat(ok("cat", "/pipe.bin").outBytes()).isEqualTo(content);
    assertThat(ok("chunk", "ls", "-o", "name", "/pipe.bin").outLines()).hasSize(3);
    CRC32C crc = new CRC32C();
    crc.update(content);
    assertThat(ok("checksum", "/pipe.bin").out())
        .isEqualTo("%08x  %d  /pipe.bin\n".formatted((int) crc.getValue(), content.length));
    List<String> copies = ok("checksum", "--replicas", "/pipe.bin").outLines();
    assertThat(copies.get(0)).startsWith("%08x  ".formatted((int) crc.getValue()));
    assertThat(copies.subList(1, copies.size()))
        .hasSize(9)
        .allMatch(line -> line.matches("[0-9a-f]{8} +[0-9]+ +chunk 0x[0-9a-f]+ on cs[1-4]"));
  }

  @Test
  void namesOfFilesGiveNoOrdersToATerminal() {
    String name = "/control\nlines\u001b[31m";
    put(name, noise(1));
    assertThat(ok("ls", "/").outLines())
        .filteredOn(line -> line.contains("/control"))
        .singleElement()
        .asString()
        .endsWith("/control\\nlines\\u001b[31m");
    CommandLineRun again = shell.run("mkdir", name);
    again.mustFail(4, "/control\\nlines\\u001b[31m");
    assertThat(again.err().lines()).allMatch(line -> line.matches("(leasefs|hint): .*"));
    ok("rm", "--skip-trash", name);
  }

  @Test
  void catReadsRangesAcrossChunksAndSeveralFilesInOrder() {
    byte[] content = noise(2 * CHUNK + 5);
    put("/range.bin", content);
    byte[] across = ok("cat", "--offset", "1048570", "--length", "12", "/range.bin").outBytes();
    assertThat(across).isEqualTo(java.util.Arrays.copyOfRange(content, 1048570, 1048582));
    assertThat(ok("cat", "--offset", "2097155", "/range.bin").outBytes()).hasSize(2);
    assertThat(ok("cat", "--offset", "9999999", "/range.bin").outBytes()).isEmpty();
    put("/one.txt", "one\n");
    put("/two.txt", "two\n");
    assertThat(ok("cat", "/one.txt", "/two.txt").out()).isEqualTo("one\ntwo\n");
    CommandLineRun run = shell.run("cat", "/one.txt", "/missing", "/two.txt").mustBe(1);
    assertThat(run.out()).isEqualTo("one\ntwo\n");
    assertThat(run.err()).startsWith("leasefs: cat: /missing: ");
  }

  @Test
  void headAndTailCountLinesAndBytes() {
    String lines = IntStream.rangeClosed(1, 100).mapToObj(i -> i + "\n").reduce("", String::concat);
    put("/lines.txt", lines);
    assertThat(ok("head", "-n", "2", "/lines.txt").out()).isEqualTo("1\n2\n");
    assertThat(ok("head", "/lines.txt").outLines()).hasSize(10);
    assertThat(ok("head", "-c", "3", "/lines.txt").out()).isEqualTo("1\n2");
    assertThat(ok("tail", "-n", "2", "/lines.txt").out()).isEqualTo("99\n100\n");
    assertThat(ok("tail", "/lines.txt").outLines()).hasSize(10).startsWith("91");
    assertThat(ok("tail", "-c", "4", "/lines.txt").out()).isEqualTo("100\n");
    assertThat(ok("tail", "-n", "1000", "/lines.txt").out()).isEqualTo(lines);
    put("/noend.txt", "a\nb");
    assertThat(ok("tail", "-n", "1", "/noend.txt").out()).isEqualTo("b");
    put("/empty.txt", "");
    assertThat(ok("tail", "/empty.txt").out()).isEmpty();
    assertThat(ok("head", "/empty.txt").out()).isEmpty();
  }

  @Test
  void folderOfManyFilesComesBackWithBytesModesAndTimes() throws Exception {
    Path source = local.resolve("source");
    for (int i = 0; i < 200; i++) {
      write(source.resolve("small").resolve("d" + i % 5).resolve("f" + i), noise(i * 7));
    }
    write(source.resolve("empty"), new byte[0]);
    write(source.resolve("one chunk"), noise(CHUNK));
    write(source.resolve("ünïcode"), noise(3));
    write(source.resolve("script.sh"), noise(100));
    Files.setPosixFilePermissions(
        source.resolve("script.sh"), PosixFilePermissions.fromString("rwxr-x---"));
    Files.createDirectories(source.resolve("no files"));
    Files.setPosixFilePermissions(
        source.resolve("no files"), PosixFilePermissions.fromString("rwx------"));
    try (Stream<Path> all = Files.walk(source)) {
      long age = 1_000_000_000_000L;
      for (Path path : all.sorted(java.util.Comparator.reverseOrder()).toList()) {
        Files.setLastModifiedTime(path, FileTime.fromMillis(age += 1001));
      }
    }
    assertThat(ok("put", "-r", source.toString(), "/whole").out()).isEmpty();
    Path back = local.resolve("back");
    assertThat(ok("get", "-r", "--verify", "/whole", back.toString()).out()).isEmpty();
    assertThat(picture(back)).isEqualTo(picture(source));
    assertThat(ok("du", "-s", "--json", "/whole").json().get(0).toString())
        .contains("\"files\":204,");
    ok("rm", "-r", "--yes", "--skip-trash", "/whole");
  }

  @Test
  void folderIsMergedIntoAnExistingOneOnlyWithForce() throws Exception {
    Path source = local.resolve("merge");
    write(source.resolve("in").resolve("both"), "old".getBytes(UTF_8));
    ok("put", "-r", source.toString(), "/");
    put("/merge/in/theirs", "theirs");
    write(source.resolve("in").resolve("both"), "new".getBytes(UTF_8));
    write(source.resolve("more").resolve("mine"), "mine".getBytes(UTF_8));
    CommandLineRun refused = shell.run("put", "-r", source.toString(), "/");
    refused.mustFail(4, "/merge: exists already");
    assertThat(refused.err()).contains("-f replaces files in it", "'leasefs rm -r /merge' first");
    shell.run("stat", "/merge/more").mustFail(3, "/merge/more");
    ok("put", "-r", "-f", source.toString(), "/");
    assertThat(ok("cat", "/merge/in/both", "/merge/in/theirs", "/merge/more/mine").out())
        .isEqualTo("newtheirsmine");
    put("/merge2", "a file");
    Files.move(source, local.resolve("merge2"));
    shell
        .run("put", "-r", "-f", local.resolve("merge2").toString(), "/")
        .mustFail(4, "/merge2: is a file");
  }

  @Test
  void linksInsideAFolderAreLeftOutAndCanBePutAfterwards() throws Exception {
    Path source = local.resolve("with-links");
    write(source.resolve("file"), "file".getBytes(UTF_8));
    Files.createSymbolicLink(source.resolve("link"), Path.of("file"));
    CommandLineRun some = shell.run("put", "-r", source.toString(), "/").mustBe(1);
    assertThat(some.err()).contains("1 of 2 were not put", "-f --follow-links");
    assertThat(ok("cat", "/with-links/file").out()).isEqualTo("file");
    ok("put", "-r", "-f", "--follow-links", source.toString(), "/");
    assertThat(ok("cat", "/with-links/link").out()).isEqualTo("file");
  }

  @Test
  void announcedSizeIsTheSizeOrNothingIsKept() throws Exception {
    shell.pipe(new byte[3], "put", "--size", "50", "-", "/sized").mustFail(1, "only 3 bytes");
    shell.pipe(new byte[9], "put", "--size", "5", "-", "/sized").mustFail(1, "more than 5 bytes");
    shell.run("stat", "/sized").mustFail(3, "/sized");
    shell.pipe(new byte[5], "put", "--size", "5", "-", "/sized").mustBe(0);
    Path file = local.resolve("six");
    write(file, new byte[6]);
    shell.run("put", "--size", "5", file.toString(), "/six").mustFail(2, "has 6 bytes, not 5");
  }

  /** Every path below with its mode, time and a checksum of its content. */
  private static Map<String, String> picture(Path top) throws IOException {
    Map<String, String> picture = new TreeMap<>();
    try (Stream<Path> all = Files.walk(top)) {
      for (Path path : (Iterable<Path>) all::iterator) {
        String text =
            PosixFilePermissions.toString(
                    Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS))
                + " "
                + Files.getLastModifiedTime(path).toMillis();
        if (Files.isRegularFile(path)) {
          CRC32C crc = new CRC32C();
          crc.update(Files.readAllBytes(path));
          text += " " + Files.size(path) + " " + crc.getValue();
        }
        picture.put(top.relativize(path).toString(), text);
      }
    }
    return picture;
  }

  private static void write(Path file, byte[] content) throws IOException {
    Path folder = file.getParent();
    if (folder != null) {
      Files.createDirectories(folder);
    }
    Files.write(file, content);
  }

  @Test
  void linksAreRefusedInsideFoldersUnlessFollowed() throws Exception {
    Path folder = local.resolve("links");
    write(folder.resolve("file"), noise(10));
    Files.createSymbolicLink(folder.resolve("link"), folder.resolve("file"));
    CommandLineRun refused = shell.run("put", "-r", folder.toString(), "/links").mustBe(1);
    assertThat(refused.err()).contains("link: is a symbolic link").contains("--follow-links");
    assertThat(refused.err()).contains("1 of 2 were not put");
    assertThat(ok("ls", "-o", "name", "/links").outLines()).containsExactly("/links/file");
    ok("put", "-r", "--follow-links", folder.toString(), "/followed");
    assertThat(ok("cat", "/followed/link").outBytes()).isEqualTo(noise(10));
    ok("put", folder.resolve("link").toString(), "/named");
    assertThat(ok("cat", "/named").outBytes()).isEqualTo(noise(10));
  }

  @Test
  void putIntoFolderKeepsTheNameAndReplacesOnlyWhenTold() throws Exception {
    Path file = local.resolve("report.txt");
    write(file, "first".getBytes(UTF_8));
    ok("mkdir", "/docs");
    ok("put", file.toString(), "/docs");
    ok("put", "-p", file.toString(), "/deep/er/folder/");
    assertThat(ok("cat", "/docs/report.txt", "/deep/er/folder/report.txt").out())
        .isEqualTo("firstfirst");
    write(file, "second".getBytes(UTF_8));
    shell.run("put", file.toString(), "/docs").mustFail(4, "/docs/report.txt");
    assertThat(ok("cat", "/docs/report.txt").out()).isEqualTo("first");
    ok("put", "-f", file.toString(), "/docs");
    assertThat(ok("cat", "/docs/report.txt").out()).isEqualTo("second");
    Path target = local.resolve("target.txt");
    ok("get", "/docs/report.txt", target.toString());
    shell.run("get", "/docs/report.txt", target.toString()).mustFail(4, "exists already");
    ok("get", "-f", "/docs/report.txt", target.toString());
    assertThat(target).hasContent("second");
    assertThat(ok("ls", "-o", "name", "/docs").outLines()).containsExactly("/docs/report.txt");
  }

  @Test
  void folderOf1100EntriesIsListedWholeAndInOrder() {
    ok("mkdir", "/many");
    List<String> names = IntStream.range(0, 1100).mapToObj("/many/%04d"::formatted).toList();
    List<CompletableFuture<Void>> makers = new ArrayList<>();
    for (int part = 0; part < 4; part++) {
      List<String> words = new ArrayList<>(List.of("mkdir"));
      words.addAll(names.subList(part * 275, part * 275 + 275));
      makers.add(CompletableFuture.runAsync(() -> ok(words.toArray(String[]::new))));
    }
    makers.forEach(CompletableFuture::join);
    assertThat(ok("ls", "-o", "name", "/many").outLines()).isEqualTo(names);
    assertThat(ok("ls", "/many").outLines()).hasSize(1100);
    assertThat(ok("ls", "-o", "jsonl", "/many").json()).hasSize(1100);
    assertThat(ok("ls", "-r", "-o", "name", "/many").outLines()).startsWith("/many/1099");
    assertThat(ok("rm", "-r", "--yes", "--skip-trash", "/many").out()).isEmpty();
  }

  @Test
  void listingsAreSortedAsAsked() {
    ok("mkdir", "-p", "/sorted/folder");
    put("/sorted/b", "123");
    put("/sorted/a", "1234");
    put("/sorted/c", "1");
    assertThat(ok("ls", "-S", "-o", "name", "/sorted").outLines())
        .startsWith("/sorted/a", "/sorted/b", "/sorted/c");
    assertThat(ok("ls", "-t", "-o", "name", "/sorted").outLines()).startsWith("/sorted/c");
    assertThat(ok("ls", "-d", "-o", "name", "/sorted").outLines()).containsExactly("/sorted");
    put("/sorted/folder/deep", "");
    assertThat(ok("ls", "-R", "-o", "name", "/sorted").outLines())
        .contains("/sorted/folder/deep", "/sorted/c");
    assertThat(ok("ls", "/sorted/a").outLines())
        .singleElement()
        .asString()
        .matches("-rw-r--r--  3 +4  20\\d\\d-\\d\\d-\\d\\d \\d\\d:\\d\\d  /sorted/a");
    CommandLineRun tree = ok("tree", "/sorted");
    assertThat(tree.outLines())
        .containsExactly(
            "/sorted", "├── a  4", "├── b  3", "├── c  1", "└── folder/", "    └── deep  0");
    assertThat(tree.err()).isEqualTo("1 folder, 4 files\n");
    assertThat(ok("-q", "tree", "-L", "1", "/sorted").err()).isEmpty();
  }

  @Test
  void appendGoesAcrossTheEndOfAChunk() {
    byte[] content = noise(CHUNK + 1000);
    put("/grows", java.util.Arrays.copyOf(content, CHUNK - 500));
    assertThat(
            shell
                .pipe(
                    java.util.Arrays.copyOfRange(content, CHUNK - 500, content.length),
                    "append",
                    "-",
                    "/grows")
                .mustBe(0)
                .out())
        .isEmpty();
    assertThat(ok("cat", "/grows").outBytes()).isEqualTo(content);
    assertThat(ok("stat", "--format", "{lengthBytes}", "/grows").out())
        .isEqualTo(content.length + "\n");
    shell.pipe(new byte[1], "append", "-", "/nowhere").mustFail(3, "/nowhere");
    shell.pipe("x".getBytes(UTF_8), "append", "--create", "-", "/created").mustBe(0);
    assertThat(ok("cat", "/created").out()).isEqualTo("x");
  }

  @Test
  void recordsAreAppendedOneALineAndTellWhereTheyAre() {
    CommandLineRun run =
        shell
            .pipe("a\nbb\nccc".getBytes(UTF_8), "record", "--per-line", "--create", "-", "/events")
            .mustBe(0);
    assertThat(run.outLines()).hasSize(3);
    assertThat(run.outLines().get(1))
        .matches("1 +/events  chunk 0x[0-9a-f]+  offset 2 +3 B  seq \\d+");
    assertThat(ok("cat", "/events").out()).isEqualTo("a\nbb\nccc");
    CommandLineRun json =
        shell.pipe("d".getBytes(UTF_8), "record", "--json", "-", "/events").mustBe(0);
    assertThat(json.outLines()).hasSize(1);
    assertThat(json.json().get(0).getAsJsonObject().get("fileOffset").getAsLong()).isEqualTo(8);
  }

  @Test
  void firstRecordMakesTheOnlyChunkOfANewFile() {
    shell.pipe("a\n".getBytes(UTF_8), "record", "--create", "-", "/made").mustBe(0);
    assertThat(ok("chunk", "ls", "-o", "name", "/made").outLines()).hasSize(1);
    shell.pipe("b\n".getBytes(UTF_8), "record", "--create", "-", "/made").mustBe(0);
    assertThat(ok("cat", "/made").out()).isEqualTo("a\nb\n");
  }

  @Test
  void filesAndFoldersMoveCopyGoAndComeBack() {
    ok("mkdir", "-p", "/mv/from", "/mv/to");
    put("/mv/from/a", "A");
    put("/mv/from/b", "B");
    assertThat(ok("mv", "/mv/from/a", "/mv/to").out()).isEmpty();
    assertThat(ok("mv", "/mv/from", "/mv/away").out()).isEmpty();
    assertThat(ok("cat", "/mv/to/a", "/mv/away/b").out()).isEqualTo("AB");
    CommandLineRun there = shell.run("mv", "/mv/to/a", "/mv/away/b");
    there.mustFail(4, "/mv/away/b");
    assertThat(there.err()).contains("-f");
    assertThat(ok("cp", "--progress=plain", "-r", "/mv/away", "/mv/copy").err())
        .endsWith("  1 file\n")
        .doesNotContain("MiB/s");
    assertThat(ok("cat", "/mv/copy/b").out()).isEqualTo("B");
    shell.run("cp", "/mv/away", "/mv/copy2").mustFail(4, "is a folder");
    shell.run("cp", "-r", "/mv", "/mv/in/itself").mustFail(2, "itself");

    assertThat(ok("rm", "/mv/copy/b").out()).isEmpty();
    shell.run("cat", "/mv/copy/b").mustFail(3, "/mv/copy/b");
    assertThat(ok("trash", "ls", "-o", "name").outLines()).contains("/mv/copy/b");
    assertThat(ok("restore", "/mv/copy/b").out()).isEmpty();
    assertThat(ok("cat", "/mv/copy/b").out()).isEqualTo("B");
    shell.run("restore", "/mv/copy/b").mustFail(3, "/mv/copy/b");

    shell.run("rmdir", "/mv/copy").mustFail(4, "/mv/copy");
    shell.run("rm", "/mv/copy").mustFail(4, "is a folder");
    shell.run("rm", "-r", "/mv/copy").mustFail(2, "not confirmed");
    assertThat(ok("rm", "-r", "--dry-run", "/mv/copy").out()).contains("would remove /mv/copy");
    ok("rm", "-r", "--yes", "/mv/copy");
    ok("rm", "-f", "/mv/copy/b");
    shell.run("ls", "/mv/copy").mustFail(3, "/mv/copy");
    ok("restore", "/mv/copy");
    assertThat(ok("cat", "/mv/copy/b").out()).isEqualTo("B");
    ok("rm", "--skip-trash", "/mv/copy/b");
    shell.run("restore", "/mv/copy/b").mustFail(3, "/mv/copy/b");
    assertThat(ok("rmdir", "/mv/copy").out()).isEmpty();
    shell.run("rmdir", "/mv/to/a").mustFail(4, "not a folder");
  }

  @Test
  void touchMakesFilesAndRenewsTimes() {
    assertThat(ok("touch", "-p", "/touch/new").out()).isEmpty();
    String before = ok("stat", "--format", "{modified}", "/touch/new").out();
    ok("touch", "/touch/new");
    assertThat(ok("stat", "--format", "{modified}", "/touch/new").out())
        .isGreaterThanOrEqualTo(before);
    assertThat(ok("stat", "--format", "{lengthBytes}", "/touch/new").out()).isEqualTo("0\n");
    shell.run("touch", "/nofolder/file").mustFail(3, "/nofolder");
  }

  @Test
  void questionsAreAnsweredByTheExitCode() {
    ok("mkdir", "/test");
    put("/test/full", "x");
    put("/test/empty", "");
    Map<String, List<Integer>> answers = new TreeMap<>();
    for (String question : List.of("-e", "-f", "-d", "-s", "-z")) {
      List<Integer> codes = new ArrayList<>();
      for (String path : List.of("/test", "/test/full", "/test/empty", "/test/none")) {
        CommandLineRun run = shell.run("test", question, path);
        assertThat(run.out() + run.err()).isEmpty();
        codes.add(run.exit());
      }
      answers.put(question, codes);
    }
    assertThat(answers)
        .containsEntry("-e", List.of(0, 0, 0, 10))
        .containsEntry("-f", List.of(10, 0, 0, 10))
        .containsEntry("-d", List.of(0, 10, 10, 10))
        .containsEntry("-s", List.of(10, 0, 10, 10))
        .containsEntry("-z", List.of(10, 10, 0, 10));
    shell.run("test", "/test").mustBe(2);
  }

  @Test
  void copiesAreSetCountedAndShown() {
    put("/copies", noise(1000));
    assertThat(ok("setrep", "-w", "2", "/copies").out()).isEmpty();
    JsonObject chunk =
        ok("chunk", "ls", "--json", "/copies")
            .json()
            .get(0)
            .getAsJsonArray()
            .get(0)
            .getAsJsonObject();
    assertThat(chunk.getAsJsonArray("members")).hasSize(2);
    String handle = chunk.get("chunk").getAsString();
    ok("wait", "--for", "chunk=" + handle + ":2");
    assertThat(
            shell
                .run("--timeout", "100ms", "wait", "--for", "chunk=" + handle + ":4")
                .mustBe(10)
                .err())
        .contains("it has 2 members");
    assertThat(ok("chunk", "get", handle).out()).contains("/copies").contains("replica ");
    assertThat(ok("chunk", "verify", "/copies").outLines())
        .hasSize(3)
        .allMatch(line -> line.startsWith("CHUNK") || line.endsWith("good"));
    assertThat(ok("du", "/copies").outLines()).hasSize(2);
    assertThat(ok("setrep", "-w", "4", "/copies").err()).isEmpty();
    assertThat(ok("setrep", "9", "/copies").err())
        .isEqualTo("leasefs: warning: 9 copies are wanted, 4 servers are there\n");
    assertThat(ok("status").out()).contains("degraded: see 'leasefs fsck'");
    assertThat(ok("setrep", "-w", "4", "/copies").err()).isEmpty();
    assertThat(ok("chunk", "verify", "/copies").outLines()).hasSize(5);
  }

  @Test
  void clusterIsLookedAt() {
    put("/look", noise(100));
    assertThat(ok("node", "ls", "-o", "name").outLines())
        .containsExactly("cs1", "cs2", "cs3", "cs4");
    assertThat(ok("node", "get", "cs1").out())
        .contains("cs1", "live")
        .containsPattern("silent +[0-9.]+m?s\n")
        .containsPattern("total +[0-9.]+ [KMGT]iB ")
        .doesNotContain("Nanos");
    CommandLineRun live = shell.run("node", "rm", "cs1", "--yes");
    assertThat(live.exit()).isNotZero();
    assertThat(live.err()).contains("hint: empty it first: 'leasefs node drain cs1 --wait'");
    shell.run("node", "get", "cs9").mustFail(3, "cs9");
    assertThat(ok("df", "-h").outLines()).hasSize(5);
    ok("wait", "--for", "leader");
    ok("wait", "--for", "nodes=4");
    ok("wait", "--for", "healthy");
    assertThat(ok("status", "--check").out()).contains("healthy").contains("4 live");
    assertThat(ok("events", "--kind", "MASTER_READY").outLines()).isNotEmpty();
    assertThat(ok("lease", "ls").outLines().get(0)).contains("PRIMARY");
    assertThat(ok("lease", "timeline", "/look").out()).contains("0x");
    shell.run("lease", "get", "/look").mustFail(3, "/look");
    assertThat(ok("why", "/look").out()).contains("nothing waits");
    CommandLineRun fsck = ok("fsck");
    assertThat(fsck.err()).contains("all is well below /");
    assertThat(ok("fsck", "--json").err()).isEmpty();
    assertThat(ok("version").out()).startsWith("leasefs ");
    assertThat(ok("config", "view", "--sources").out()).contains("LEASEFS_MASTER");
    assertThat(ok("completion", "bash").out()).contains("leasefs");
  }

  @Test
  void nodeIsDrainedAndTakenBack() {
    try {
      ok("node", "drain", "cs4", "--wait");
      assertThat(ok("node", "ls").out()).contains("drained");
      put("/without-cs4", noise(10));
      assertThat(ok("chunk", "ls", "/without-cs4").out()).doesNotContain("cs4");
    } finally {
      ok("node", "undrain", "cs4");
    }
    assertThat(ok("node", "get", "--json", "cs4").out()).contains("\"live\"");
  }

  /**
   * The keys of every verb's JSON are a contract: renaming one breaks scripts. A key that is there
   * only sometimes bears a question mark in the file.
   */
  @Test
  void keysOfJsonAreThoseOfTheGoldenFile() throws Exception {
    Path file = local.resolve("json.txt");
    write(file, "hello\n".getBytes(UTF_8));
    Path folder = local.resolve("json");
    write(folder.resolve("inner"), noise(3));
    String back = local.resolve("json-back").toString();
    JsonKeys keys = new JsonKeys();
    keys.of("put", ok("put", "--json", "-p", file.toString(), "/json/"), 1);
    keys.of("put -r", ok("put", "--json", "-r", folder.toString(), "/json/folder"), 1);
    keys.of("get", ok("get", "--json", "/json/json.txt", back), 1);
    keys.of("get -r", ok("get", "--json", "-r", "/json/folder", back + "-folder"), 1);
    keys.of("stat", ok("stat", "--json", "/json/json.txt", "/json"), 2);
    keys.of("ls", ok("ls", "--json", "/json"), 1);
    keys.of("tree", ok("tree", "--json", "/json"), 1);
    keys.of("mkdir", ok("mkdir", "--json", "/json/made"), 1);
    keys.of("rmdir", ok("rmdir", "--json", "/json/made"), 1);
    keys.of("touch", ok("touch", "--json", "/json/touched"), 1);
    keys.of("cp", ok("cp", "--json", "/json/json.txt", "/json/copy"), 1);
    keys.of("mv", ok("mv", "--json", "/json/copy", "/json/moved"), 1);
    keys.of("rm", ok("rm", "--json", "/json/moved"), 1);
    keys.of("restore", ok("restore", "--json", "/json/moved"), 1);
    keys.of("setrep", ok("setrep", "--json", "3", "/json/moved"), 1);
    keys.of("test", ok("test", "--json", "-e", "/json/moved"), 1);
    keys.of("checksum", ok("checksum", "--json", "/json/moved"), 1);
    keys.of("du", ok("du", "--json", "/json"), 1);
    keys.of("df", ok("df", "--json"), 1);
    keys.of("append", shell.pipe(new byte[3], "append", "--json", "-", "/json/moved").mustBe(0), 1);
    ok("touch", "/json/records");
    keys.of("record", shell.pipe(new byte[3], "record", "--json", "-", "/json/records"), 1);
    try (LeaseFs client = cluster.client();
        RecordAppender appender = client.recordAppender("/json/records")) {
      AppendResult first = appender.append(ByteBuffer.wrap(new byte[10]));
      assertThat(first.fileOffset()).isEqualTo(3);
      keys.of("lease get", ok("lease", "get", "--json", "/json/records"), 1);
      keys.of("lease ls", ok("lease", "ls", "--json"), 1);
      keys.of("lease timeline", ok("lease", "timeline", "--json", "/json/records"), 1);
      keys.of("chunk ls", ok("chunk", "ls", "--json", "/json/records"), 1);
      keys.of("chunk get", ok("chunk", "get", "--json", "/json/records"), 1);
    }
    keys.of("chunk verify", ok("chunk", "verify", "--json", "/json/json.txt"), 1);
    keys.of("node ls", ok("node", "ls", "--json"), 1);
    keys.of("node get", ok("node", "get", "--json", "cs1"), 1);
    keys.of("status", ok("status", "--json"), 1);
    keys.of("wait", ok("wait", "--json", "--for", "leader"), 1);
    keys.of("events", ok("events", "--json", "--kind", "LEASE_GRANTED"), -1);
    ok("rm", "/json/touched");
    keys.of("trash ls", ok("trash", "ls", "--json"), 1);
    keys.of("trash empty", ok("trash", "empty", "--json", "--older", "1h", "--yes"), 1);
    keys.of("config view", ok("config", "view", "--json"), 1);
    keys.of("version", ok("version", "--json"), 1);
    keys.mustBeThoseOf("json-keys.txt");
  }

  @Test
  void errorIsOneLineOfJsonWhenAnswersAre() {
    CommandLineRun run = shell.run("--json", "cat", "/none").mustBe(3);
    assertThat(run.out()).isEmpty();
    assertThat(run.err().lines()).hasSize(1);
    assertThat(run.err())
        .startsWith("{\"error\":{\"code\":\"NOT_FOUND\",\"exit\":3,\"command\":\"cat\",")
        .contains("\"path\":\"/none\"", "\"message\":\"/none: ")
        .contains("\"retryable\":false")
        .doesNotContain("requestId");
    CommandLineRun change = shell.run("--json", "mkdir", "/none/below").mustBe(3);
    assertThat(change.err()).contains("\"path\":\"/none/below\"");
    assertThat(change.err()).containsPattern("\"requestId\":\"[0-9a-f-]+-1\"");
  }

  @Test
  void deadlineBoundsTheWholeCommand() {
    long begun = System.nanoTime();
    shell.run("--deadline", "300ms", "--timeout", "0", "wait", "--for", "nodes=99").mustBe(6);
    assertThat(System.nanoTime() - begun).isLessThan(10_000_000_000L);
  }
}
