package io.leasefs.cluster;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.core.importer.Location;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** Who may import whom: direction and non-determinism only, never sizes. */
@AnalyzeClasses(
    packages = "io.leasefs.cluster",
    importOptions = ArchitectureTest.ProductionCode.class)
class ArchitectureTest {
  private static final String MAIN = "io\\.leasefs\\..*Main(\\$.*)?";

  /** Leaves the tests out, wherever a build tool puts their classes. */
  static final class ProductionCode implements ImportOption {
    @Override
    public boolean includes(Location location) {
      return !location.contains("/test-classes/");
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
              "io.grpc..", "com.google.protobuf..", "io.leasefs.proto..", "io.netty..")
          .allowEmptyShould(true);

  /** Rule 2: Ratis is known in one package of the master. */
  @ArchTest
  static final ArchRule nobodyHereSeesRatis =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAPackage("org.apache.ratis..")
          .allowEmptyShould(true);

  /** Rule 6. */
  @ArchTest
  static final ArchRule packagesHaveNoCycles =
      slices().matching("io.leasefs.(**)").should().beFreeOfCycles().allowEmptyShould(true);

  /** Rule 7: a main is where the object graph is built, and nothing else. */
  @ArchTest
  static final ArchRule nobodyDependsOnAMain =
      noClasses()
          .that()
          .haveNameNotMatching(MAIN)
          .should()
          .dependOnClassesThat()
          .haveNameMatching(MAIN)
          .allowEmptyShould(true);
}
