package io.leasefs.cluster;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaCall;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.core.importer.Location;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.Disk;
import io.leasefs.common.edge.RandomSource;
import io.leasefs.common.edge.Scheduler;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.security.SecureRandom;
import java.time.temporal.TemporalAccessor;
import java.util.Random;
import java.util.Timer;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Who may import whom, of all modules: direction and non-determinism only, never sizes. Here,
 * because this module sees all others.
 */
@AnalyzeClasses(packages = "io.leasefs", importOptions = ArchitectureTest.ProductionCode.class)
class ArchitectureTest {
  private static final String MAIN = "io\\.leasefs\\..*Main(\\$.*)?";

  /** A library has no main: here the client's object graph is built, and its one timer thread. */
  private static final String MAIN_OF_THE_LIBRARY =
      "io\\.leasefs\\.client\\.(LeaseFs|ThreadScheduler)(\\$.*)?";

  /** Edges themselves, and programs for people: they see files, clocks and threads. */
  private static final String[] EDGES = {
    "io.leasefs.server..",
    "io.leasefs.cluster..",
    "io.leasefs.client.cli..",
    "io.leasefs.common.edge..",
    "io.leasefs.master.log.ratis..",
    "..rpc.."
  };

  /** Leaves out what lies where this very test does. */
  static final class ProductionCode implements ImportOption {
    private static final String TESTS =
        ArchitectureTest.class.getProtectionDomain().getCodeSource().getLocation().getPath();

    @Override
    public boolean includes(Location location) {
      return !location.contains(TESTS);
    }
  }

  /** Rule 1: what speaks gRPC or protobuf lives in packages named rpc, or is a codec. */
  @ArchTest
  static final ArchRule onlyRpcPackagesAndCodecsSeeGrpc =
      noClasses()
          .that()
          .resideOutsideOfPackages("..rpc..", "io.leasefs.proto..")
          .and()
          .haveNameNotMatching(".*Codec(\\$.*)?")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "io.grpc..", "com.google.protobuf..", "io.leasefs.proto..", "io.netty..");

  /** Rule 2: Ratis is known in one package of the master. */
  @ArchTest
  static final ArchRule onlyOnePackageSeesRatis =
      noClasses()
          .that()
          .resideOutsideOfPackage("..master.log.ratis..")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("org.apache.ratis..");

  /** Rule 3: files are reached through Disk, so that a simulated one can tear writes. */
  @ArchTest
  static final ArchRule filesAreReachedThroughDisk =
      noClasses()
          .that()
          .resideOutsideOfPackages(EDGES)
          .and()
          .resideOutsideOfPackage("..common.config..")
          .and()
          .haveNameNotMatching(MAIN)
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("java.nio.file..", "java.nio.channels..")
          .orShould()
          .dependOnClassesThat()
          .belongToAnyOf(File.class, FileInputStream.class, FileOutputStream.class);

  /** Rule 4: time, chance and threads come in through edges. */
  @ArchTest
  static final ArchRule timeChanceAndThreadsComeInThroughEdges =
      noClasses()
          .that()
          .resideOutsideOfPackages(EDGES)
          .and()
          .haveNameNotMatching(MAIN)
          .and()
          .haveNameNotMatching(MAIN_OF_THE_LIBRARY)
          .should()
          .callCodeUnitWhere(describe("it asks the machine", ArchitectureTest::asksTheMachine))
          .orShould()
          .dependOnClassesThat()
          .belongToAnyOf(
              Executors.class,
              Timer.class,
              Random.class,
              SecureRandom.class,
              ThreadLocalRandom.class,
              java.time.Clock.class);

  /** Rule 5: the cores know no clock, no lock and no I/O; what they need is an argument. */
  @ArchTest
  static final ArchRule coresArePure =
      noClasses()
          .that()
          .resideInAnyPackage(
              "..common.lease..",
              "..common.model..",
              "..common.error..",
              "..client.retry..",
              "..master.state..",
              "..master.lease..",
              "..master.placement..",
              "..master.repair..",
              "..chunkserver.replica..",
              "..chunkserver.lease..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "java.util.concurrent.locks..",
              "java.net..",
              "java.nio.file..",
              "java.nio.channels..")
          .orShould()
          .dependOnClassesThat()
          .belongToAnyOf(
              Clock.class, Scheduler.class, Disk.class, RandomSource.class, Thread.class);

  /** Rule 6. */
  @ArchTest
  static final ArchRule packagesHaveNoCycles =
      slices().matching("io.leasefs.(**)").should().beFreeOfCycles();

  /** Rule 7: a main is where the object graph is built, and nothing else. */
  @ArchTest
  static final ArchRule nobodyDependsOnAMain =
      noClasses()
          .that()
          .haveNameNotMatching(MAIN)
          .should()
          .dependOnClassesThat()
          .haveNameMatching(MAIN);

  private static boolean asksTheMachine(JavaCall<?> call) {
    String name = call.getTarget().getName();
    boolean system =
        call.getTargetOwner().isEquivalentTo(System.class)
            && name.matches("nanoTime|currentTimeMillis|getenv");
    boolean thread =
        call.getTargetOwner().isAssignableTo(Thread.class)
            && name.matches("<init>|start|sleep|ofVirtual|ofPlatform|startVirtualThread");
    boolean wallClock =
        call.getTargetOwner().isAssignableTo(TemporalAccessor.class) && name.equals("now");
    boolean chance =
        (call.getTargetOwner().isEquivalentTo(UUID.class) && name.equals("randomUUID"))
            || (call.getTargetOwner().isEquivalentTo(Math.class) && name.equals("random"));
    return system || thread || wallClock || chance;
  }
}
