package io.leasefs.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class ReadmePageTest {
  @Test
  void everyShellBlockOfTheReadmeIsRunOrSaysWhyNot() throws Exception {
    ReadmePage page = ReadmePage.read();
    assertThat(page.problems()).isEmpty();
    assertThat(page.steps()).hasSizeGreaterThan(20);
  }

  @Test
  void commandsAreFoundInOrderWithTheirLines() {
    ReadmePage page =
        ReadmePage.of(
            List.of("text", "```console", "$ one", "$ two", "```", "```java", "int x;", "```"));
    assertThat(page.problems()).isEmpty();
    assertThat(page.steps())
        .containsExactly(new ReadmePage.Step(3, "one"), new ReadmePage.Step(4, "two"));
  }

  @Test
  void blockThatIsNeitherRunNorLeftOutIsAProblem() {
    assertThat(ReadmePage.of(List.of("```", "bin/leasefs ls /", "```")).problems()).hasSize(1);
    assertThat(ReadmePage.of(List.of("```console", "bin/leasefs ls /", "```")).problems())
        .containsExactly("line 2: not a command: bin/leasefs ls /");
    ReadmePage leftOut =
        ReadmePage.of(List.of("<!-- not run: it needs Docker -->", "```", "docker ps", "```"));
    assertThat(leftOut.problems()).isEmpty();
    assertThat(leftOut.steps()).isEmpty();
    assertThat(ReadmePage.of(List.of("<!-- not run: -->", "```", "x", "```")).problems())
        .as("without a reason")
        .hasSize(1);
  }
}
