package io.leasefs.master.placement;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.ServerId;
import io.leasefs.master.placement.PlacementPolicy.Candidate;
import java.util.List;
import org.junit.jupiter.api.Test;

class SpreadPlacementTest {
  private static final long GIB = 1L << 30;

  private final SpreadPlacement placement = new SpreadPlacement();

  @Test
  void copiesGoToDifferentRacks() {
    List<Candidate> chosen =
        choose(3, at("a", "r1", 90), at("b", "r1", 90), at("c", "r2", 10), at("d", "r3", 10));

    assertThat(chosen).extracting(Candidate::rack).containsExactlyInAnyOrder("r1", "r2", "r3");
  }

  @Test
  void neverTwoOnOneServer() {
    assertThat(choose(3, at("a", "r1", 90), at("b", "r1", 90)))
        .extracting(candidate -> candidate.server().name())
        .containsExactlyInAnyOrder("a", "b");
  }

  @Test
  void emptierDiskIsPreferred() {
    assertThat(choose(1, at("a", "r1", 10), at("b", "r1", 80)).get(0).server().name())
        .isEqualTo("b");
  }

  @Test
  void recentCreationsPushNewOnesElsewhere() {
    Candidate busy = new Candidate(new ServerId("a"), "r1", disk("a"), 80 * GIB, 100 * GIB, 9, 0);

    assertThat(choose(1, busy, at("b", "r1", 75)).get(0).server().name()).isEqualTo("b");
  }

  @Test
  void fullDiskIsNotChosen() {
    assertThat(placement.choose(List.of(at("a", "r1", 1)), List.of(), 1, 2 * GIB, 0)).isEmpty();
  }

  @Test
  void serverWithFewestLeasesIsPrimary() {
    Candidate loaded = new Candidate(new ServerId("a"), "r1", disk("a"), 90 * GIB, 100 * GIB, 0, 7);

    assertThat(choose(2, loaded, at("b", "r2", 50)).get(0).server().name()).isEqualTo("b");
  }

  @Test
  void racksOfCopiesThatThereAreAreAvoided() {
    List<Candidate> chosen =
        placement.choose(List.of(at("a", "r1", 90), at("b", "r2", 10)), List.of("r1"), 1, GIB, 0);

    assertThat(chosen.get(0).server().name()).isEqualTo("b");
  }

  private List<Candidate> choose(int count, Candidate... candidates) {
    return placement.choose(List.of(candidates), List.of(), count, GIB, 0);
  }

  private static Candidate at(String server, String rack, long freeGib) {
    return new Candidate(new ServerId(server), rack, disk(server), freeGib * GIB, 100 * GIB, 0, 0);
  }

  private static DiskId disk(String server) {
    return new DiskId("disk-" + server);
  }
}
