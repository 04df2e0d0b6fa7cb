package io.leasefs.server.start;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DataFolderTest {
  @TempDir Path temporary;

  private interface Attempt {
    void run() throws IOException;
  }

  @Test
  void newFolderIsMadeAndMarked() throws IOException {
    Path path = temporary.resolve("a/b");
    try (DataFolder folder = open(path, "cs1", Optional.empty())) {
      assertThat(folder.cluster()).isEmpty();
      assertThat(path.resolve("VERSION")).content().startsWith("format: 2\nrole: chunkserver\n");
      assertThat(path.resolve("VERSION.new")).doesNotExist();
    }
  }

  @Test
  void clusterOnceJoinedIsKeptOverARestart() throws IOException {
    try (DataFolder folder = open(temporary, "cs1", Optional.empty())) {
      folder.joinCluster("c1");
      folder.joinCluster("c1");
      assertThat(refusal(() -> folder.joinCluster("c2"))).contains("belongs to cluster c1");
    }
    try (DataFolder folder = open(temporary, "cs1", Optional.empty())) {
      assertThat(folder.cluster()).contains("c1");
    }
    assertThat(refusal(() -> open(temporary, "cs1", Optional.of("c2"))))
        .contains("belongs to cluster c1, not to c2");
  }

  @Test
  void clusterNamedLaterByTheOperatorIsWritten() throws IOException {
    open(temporary, "cs1", Optional.empty()).close();
    open(temporary, "cs1", Optional.of("c1")).close();
    try (DataFolder folder = open(temporary, "cs1", Optional.empty())) {
      assertThat(folder.cluster()).contains("c1");
    }
  }

  @Test
  void mastersFolderOfFormat1IsTakenOverAndWrittenInFormat2() throws IOException {
    FolderIdentity old = new FolderIdentity(1, "master", "m1", Optional.of("c1"));
    Files.write(temporary.resolve("VERSION"), old.toBytes());
    DataFolder.open(temporary, "master", "m1", Optional.empty()).close();
    assertThat(temporary.resolve("VERSION")).content().startsWith("format: 3\nrole: master\n");
    try (DataFolder folder = DataFolder.open(temporary, "master", "m1", Optional.empty())) {
      assertThat(folder.cluster()).contains("c1");
    }
  }

  @Test
  void folderInUseIsRefusedWithTheProcessThatUsesIt() throws IOException {
    DataFolder folder = open(temporary, "cs1", Optional.empty());
    assertThat(refusal(() -> open(temporary, "cs1", Optional.empty())))
        .isEqualTo(
            temporary + ": the data folder is in use by process " + ProcessHandle.current().pid());
    folder.close();
    open(temporary, "cs1", Optional.empty()).close();
  }

  @Test
  void anotherServersFolderIsRefused() throws IOException {
    open(temporary, "cs1", Optional.empty()).close();
    assertThat(refusal(() -> open(temporary, "cs2", Optional.empty())))
        .contains("belongs to chunkserver cs1, not to chunkserver cs2");
    assertThat(refusal(() -> DataFolder.open(temporary, "master", "cs1", Optional.empty())))
        .contains("belongs to chunkserver cs1, not to master cs1");
    open(temporary, "cs1", Optional.empty()).close();
  }

  @Test
  void folderOfSomebodyElseIsLeftAlone() throws IOException {
    Files.writeString(temporary.resolve("thesis.tex"), "dear", UTF_8);
    assertThat(refusal(() -> open(temporary, "cs1", Optional.empty())))
        .contains("has no file VERSION, but holds thesis.tex");
    assertThat(temporary.resolve("VERSION")).doesNotExist();
  }

  @Test
  void leftoversOfAnInterruptedFirstStartDoNotMatter() throws IOException {
    Files.createDirectory(temporary.resolve("lost+found"));
    Files.writeString(temporary.resolve("VERSION.new"), "form", UTF_8);
    Files.writeString(temporary.resolve("lock"), "12345\n", UTF_8);
    open(temporary, "cs1", Optional.empty()).close();
    assertThat(temporary.resolve("VERSION")).exists();
  }

  @Test
  void newerFormatAndDamageAreRefusedAndTheFolderIsUnlocked() throws IOException {
    open(temporary, "cs1", Optional.empty()).close();
    Path version = temporary.resolve("VERSION");
    String good = Files.readString(version, UTF_8);
    Files.write(version, new FolderIdentity(7, "chunkserver", "cs1", Optional.empty()).toBytes());
    assertThat(refusal(() -> open(temporary, "cs1", Optional.empty()))).contains("format 7");
    Files.writeString(version, good.replace("cs1", "cs2"), UTF_8);
    assertThatThrownBy(() -> open(temporary, "cs1", Optional.empty()))
        .isInstanceOfSatisfying(
            LeaseFsException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CORRUPT))
        .hasMessageContaining("is damaged");
    Files.writeString(version, good, UTF_8);
    open(temporary, "cs1", Optional.empty()).close();
  }

  @Test
  void fileInPlaceOfTheFolderIsRefused() throws IOException {
    Path file = Files.createFile(temporary.resolve("file"));
    assertThat(refusal(() -> open(file, "cs1", Optional.empty()))).contains("is a file");
  }

  @Test
  void nameThatCannotBeOneIsRefused() {
    assertThat(refusal(() -> open(temporary, "../cs1", Optional.empty())))
        .contains("'../cs1' cannot name a server");
  }

  private static DataFolder open(Path path, String server, Optional<String> cluster) {
    return DataFolder.open(path, "chunkserver", server, cluster);
  }

  private static String refusal(Attempt attempt) {
    LeaseFsException e = catchThrowableOfType(LeaseFsException.class, attempt::run);
    assertThat(e).isNotNull();
    assertThat(e.hint()).isNotEmpty();
    assertThat(e.code().exitCode()).isEqualTo(2);
    return String.valueOf(e.getMessage());
  }
}
