package io.leasefs.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.client.fake.MemoryCluster;
import io.leasefs.client.fake.MemoryServers;
import io.leasefs.common.model.AppendResult;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The example of the README, as it stands there between the two marks. */
class ReadmeExampleTest {
  private static String example(String masters) throws IOException {
    // README: begin
    try (LeaseFs files = LeaseFs.connect(LeaseFsConfig.of(masters))) {
      try (FileWriter writer = files.create("/hello.txt")) {
        writer.write("hello, ".getBytes(StandardCharsets.UTF_8));
        writer.flush(); // at every replica, and visible to every reader
        writer.write("world\n".getBytes(StandardCharsets.UTF_8));
      }
      try (RecordAppender appender = files.recordAppender("/hello.txt")) {
        // Exactly once, whatever happens to the primary; many may append at the same time.
        AppendResult where =
            appender.append(ByteBuffer.wrap("again\n".getBytes(StandardCharsets.UTF_8)));
        System.out.println("at byte " + where.fileOffset());
      }
      try (FileReader reader = files.open("/hello.txt")) {
        return new String(reader.stream().readAllBytes(), StandardCharsets.UTF_8);
      }
    }
    // README: end
  }

  @Test
  void theExampleRuns() throws IOException {
    try (MemoryServers servers = new MemoryServers(new MemoryCluster(1 << 20))) {
      assertThat(example(servers.master().toString())).isEqualTo("hello, world\nagain\n");
    }
  }

  @Test
  void theReadmeShowsTheseVeryLines() throws IOException {
    Path module = Path.of("").toAbsolutePath();
    if (!module.endsWith("client")) {
      module = module.resolve("client");
    }
    List<String> source =
        Files.readAllLines(
            module.resolve("src/test/java/io/leasefs/client/ReadmeExampleTest.java"));
    int begin = source.indexOf("    // README: begin");
    int end = source.indexOf("    // README: end");
    StringBuilder example = new StringBuilder("```java\n");
    for (String line : source.subList(begin + 1, end)) {
      example.append(line.startsWith("    ") ? line.substring(4) : line).append('\n');
    }
    assertThat(Files.readString(module.resolveSibling("README.md")))
        .contains(example.append("```\n"));
  }
}
