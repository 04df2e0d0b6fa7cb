package io.leasefs.master.repair;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import io.leasefs.master.repair.ReplicationPlanner.AddCopy;
import io.leasefs.master.repair.ReplicationPlanner.Copy;
import io.leasefs.master.repair.ReplicationPlanner.DropCopy;
import io.leasefs.master.repair.ReplicationPlanner.Facts;
import io.leasefs.master.repair.ReplicationPlanner.Health;
import io.leasefs.master.repair.ReplicationPlanner.LeaveOut;
import io.leasefs.master.repair.ReplicationPlanner.Step;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class ReplicationPlannerTest {
  private static final ChunkHandle CHUNK = new ChunkHandle(1);

  private final ReplicationPlanner planner = new ReplicationPlanner();

  @Test
  void wholeChunkNeedsNothing() {
    assertThat(plan(Health.GOOD, Health.GOOD, Health.GOOD)).isEmpty();
  }

  @Test
  void lostCopyIsMadeElsewhereBeforeItIsGivenUp() {
    assertThat(plan(Health.GOOD, Health.GOOD, Health.LOST))
        .containsExactly(
            new AddCopy(
                new ChunkHandle(1),
                2,
                Set.of(new ServerId("s0"), new ServerId("s1"), new ServerId("s2"))));
    assertThat(plan(Health.GOOD, Health.GOOD, Health.LOST, Health.GOOD))
        .containsExactly(new DropCopy(new ChunkHandle(1), member(2), "replaced"));
  }

  @Test
  void serverThatIsAwayForAMomentIsWaitedFor() {
    assertThat(plan(Health.GOOD, Health.GOOD, Health.AWAY)).isEmpty();
  }

  @Test
  void nobodyIsWaitedForWhereWritingStandsStill() {
    assertThat(plan(Health.GOOD, Health.AWAY, Health.AWAY))
        .hasAtLeastOneElementOfType(AddCopy.class);
  }

  @Test
  @Tag("F52")
  void damagedCopyGoesAtOnceAndTheLastOneNever() {
    assertThat(plan(Health.GOOD, Health.GOOD, Health.DAMAGED))
        .contains(new DropCopy(new ChunkHandle(1), member(2), "damaged"));
    assertThat(plan(Health.DAMAGED)).isEmpty();
    assertThat(plan(Health.DAMAGED, Health.LOST)).isEmpty();
  }

  @Test
  void damagedCopyStaysWhileACopyIsUnderWay() {
    List<Copy> members = copies(Health.GOOD, Health.DAMAGED);
    List<Copy> coming = List.of(new Copy(member(7), Health.GOOD));

    assertThat(planner.plan(facts(true, false, members, coming)))
        .noneMatch(DropCopy.class::isInstance);
    assertThat(planner.plan(facts(true, false, members, List.of())))
        .contains(new DropCopy(new ChunkHandle(1), member(1), "damaged"));
  }

  /** What it has may be sound: it goes before its replacement comes only where enough are left. */
  @Test
  void copyThatIsBehindGoesWhereEnoughOthersAreGood() {
    assertThat(plan(Health.GOOD, Health.GOOD, Health.BEHIND))
        .contains(new DropCopy(new ChunkHandle(1), member(2), "it lacks what was stored"));
    assertThat(plan(Health.GOOD, Health.BEHIND)).hasOnlyElementsOfType(AddCopy.class);
    assertThat(plan(Health.GOOD, Health.GOOD, Health.GOOD, Health.BEHIND))
        .containsExactly(new DropCopy(new ChunkHandle(1), member(3), "it lacks what was stored"));
  }

  @Test
  void damagedCopyStaysUntilItIsReplacedWhereAnotherServerHasRoom() {
    List<Copy> members = copies(Health.GOOD, Health.DAMAGED);
    Set<ServerId> another = Set.of(new ServerId("s1"), new ServerId("s7"));

    assertThat(planner.plan(new Facts(CHUNK, 2, 2, true, false, members, List.of(), another)))
        .hasSize(1)
        .hasOnlyElementsOfType(AddCopy.class);
    List<Copy> replaced = copies(Health.GOOD, Health.DAMAGED, Health.GOOD);
    assertThat(planner.plan(new Facts(CHUNK, 2, 2, true, false, replaced, List.of(), another)))
        .containsExactly(new DropCopy(CHUNK, member(1), "damaged"));
  }

  @Test
  void damagedCopyStaysWhereItsServerCouldNotTakeABetterOne() {
    List<Copy> members = copies(Health.GOOD, Health.DAMAGED);
    Set<ServerId> otherOnly = Set.of(new ServerId("s0"));

    assertThat(planner.plan(new Facts(CHUNK, 2, 2, true, false, members, List.of(), otherOnly)))
        .noneMatch(DropCopy.class::isInstance);
  }

  @Test
  void drainingCopyIsReplacedFirst() {
    assertThat(plan(Health.GOOD, Health.GOOD, Health.DRAINING))
        .hasOnlyElementsOfType(AddCopy.class);
    assertThat(plan(Health.GOOD, Health.GOOD, Health.DRAINING, Health.GOOD))
        .containsExactly(new DropCopy(new ChunkHandle(1), member(2), "moved away"));
  }

  @Test
  void oneMoreThanTheGoalIsDropped() {
    assertThat(plan(Health.GOOD, Health.GOOD, Health.GOOD, Health.GOOD))
        .hasOnlyElementsOfType(DropCopy.class)
        .hasSize(1);
  }

  @Test
  void membersOfAnOpenChunkAreOnlyDroppedByAChange() {
    List<Copy> members = copies(Health.GOOD, Health.GOOD, Health.GOOD, Health.LOST);

    assertThat(planner.plan(facts(false, false, members, List.of()))).isEmpty();
  }

  @Test
  void damagedMemberOfAnOpenChunkIsLeftOutWhereEnoughAreLeft() {
    List<Copy> enough = copies(Health.GOOD, Health.DAMAGED, Health.DRAINING);
    List<Copy> tooFew = copies(Health.GOOD, Health.DAMAGED, Health.AWAY);

    assertThat(planner.plan(facts(false, false, enough, List.of())))
        .contains(new LeaveOut(new ChunkHandle(1), member(1)))
        .noneMatch(DropCopy.class::isInstance);
    assertThat(planner.plan(facts(false, true, enough, List.of())))
        .noneMatch(LeaveOut.class::isInstance);
    assertThat(planner.plan(facts(false, false, tooFew, List.of())))
        .noneMatch(LeaveOut.class::isInstance);
  }

  @Test
  void copyUnderWayCounts() {
    assertThat(
            planner.plan(
                facts(
                    true,
                    false,
                    copies(Health.GOOD, Health.GOOD, Health.LOST),
                    List.of(new Copy(member(7), Health.GOOD)))))
        .isEmpty();
  }

  @Test
  void copyUnderWayThatIsNotNeededAnyMoreIsGivenUp() {
    List<Copy> learner = List.of(new Copy(member(7), Health.GOOD));
    List<Copy> members = copies(Health.GOOD, Health.GOOD, Health.GOOD);

    assertThat(planner.plan(facts(false, false, members, learner)))
        .containsExactly(new DropCopy(new ChunkHandle(1), member(7), "not needed any more"));
    assertThat(planner.plan(facts(false, true, members, learner))).isEmpty();
  }

  @Test
  void fewestCopiesComeFirst() {
    AddCopy two = new AddCopy(new ChunkHandle(1), 2, Set.of());
    AddCopy one = new AddCopy(new ChunkHandle(9), 1, Set.of());
    List<AddCopy> adds = new ArrayList<>(List.of(two, one));

    adds.sort(ReplicationPlanner.urgency());

    assertThat(adds).containsExactly(one, two);
  }

  private List<Step> plan(Health... healths) {
    return planner.plan(facts(true, false, copies(healths), List.of()));
  }

  /** No other server has room for a copy. */
  private static Facts facts(
      boolean sealed, boolean moving, List<Copy> members, List<Copy> learners) {
    Set<ServerId> servers = new TreeSet<>();
    members.forEach(copy -> servers.add(copy.member().server()));
    return new Facts(CHUNK, 3, 2, sealed, moving, members, learners, servers);
  }

  private static List<Copy> copies(Health... healths) {
    List<Copy> copies = new ArrayList<>();
    for (int i = 0; i < healths.length; i++) {
      copies.add(new Copy(member(i), healths[i]));
    }
    return copies;
  }

  private static Member member(int index) {
    return new Member(
        new ServerId("s" + index), new DiskId("d" + index), new ReplicaId(10 + index));
  }
}
