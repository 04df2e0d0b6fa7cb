package io.leasefs.cluster.containers;

import static org.assertj.core.api.Assertions.assertThat;

import com.github.dockerjava.api.model.HostConfig;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.testcontainers.containers.Container.ExecResult;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.startupcheck.OneShotStartupCheckStrategy;
import org.testcontainers.utility.DockerImageName;

/** The image as it is meant to run: not as root, on a root file system that is read-only. */
class ImageContainersIT {
  /** Set by the one who runs these tests; the image is never pulled. */
  static final DockerImageName IMAGE =
      DockerImageName.parse(
          Map.copyOf(System.getenv()).getOrDefault("LEASEFS_IMAGE", "leasefs:latest"));

  @Test
  void commandRunsOnAReadOnlyRoot() {
    try (GenericContainer<?> container = image()) {
      container.withCommand("version");
      container.withStartupCheckStrategy(
          new OneShotStartupCheckStrategy().withTimeout(Duration.ofSeconds(30)));
      container.start();
      assertThat(container.getLogs()).startsWith("leasefs ").contains("(Java 25");
    }
  }

  @Test
  void imageRunsAsNobodySpecialWhoOwnsOnlyTheData() throws Exception {
    try (GenericContainer<?> container = image()) {
      container.withCreateContainerCmdModifier(
          command -> command.withEntrypoint("sleep").withCmd("60"));
      container.start();
      assertThat(run(container, "id -u")).isEqualTo("10001\n");
      assertThat(run(container, "touch /data/x && echo yes")).isEqualTo("yes\n");
      assertThat(run(container, "find /opt/leasefs -writable | wc -l")).isEqualTo("0\n");
      assertThat(run(container, "ls /opt/leasefs/lib/aot/*.aot | wc -l")).isEqualTo("3\n");
    }
  }

  @Test
  void healthCheckSaysThatNobodyAnswers() throws Exception {
    try (GenericContainer<?> container = image()) {
      container.withCreateContainerCmdModifier(
          command -> command.withEntrypoint("sleep").withCmd("60"));
      container.start();
      ExecResult result = container.execInContainer("leasefs-health", "9801");
      assertThat(result.getExitCode()).isEqualTo(1);
      assertThat(result.getStdout()).isEqualTo("nobody answers at 127.0.0.1:9801\n");
    }
  }

  private static GenericContainer<?> image() {
    GenericContainer<?> container = new GenericContainer<>(IMAGE);
    container.withImagePullPolicy(name -> false);
    container.withTmpFs(Map.of("/tmp", "size=64m,mode=1777"));
    container.withCreateContainerCmdModifier(
        command -> {
          HostConfig host = command.getHostConfig();
          command.withHostConfig((host == null ? new HostConfig() : host).withReadonlyRootfs(true));
        });
    return container;
  }

  private static String run(GenericContainer<?> container, String script) throws Exception {
    return container.execInContainer("bash", "-c", script).getStdout();
  }
}
