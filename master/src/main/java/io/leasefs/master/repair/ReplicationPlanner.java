package io.leasefs.master.repair;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Which copies to make and which to give up, chunk by chunk. Pure: facts in, steps out; somebody
 * else carries them out, within limits, and checks each against the log as it is applied.
 *
 * <p>A copy that can be read is worth more than any rule: nothing is given up that would leave
 * fewer good ones than the goal, and never the last one.
 */
public final class ReplicationPlanner {
  /** What a copy is worth now. */
  public enum Health {
    GOOD,
    /** Good, on a server that is to be emptied. */
    DRAINING,
    /** Its server is away, but may yet come back. */
    AWAY,
    /** Its server is away for too long. */
    LOST,
    /** It cannot be trusted, or its server has it no more. */
    DAMAGED,
    /** It has not told that it has all that it had stored; what it has may be sound. */
    BEHIND
  }

  /** A copy and its worth. */
  public record Copy(Member member, Health health) {}

  /**
   * A chunk as it is.
   *
   * @param goal copies wanted
   * @param least fewest copies with which it can be written
   * @param sealed its copies never change any more
   * @param moving a change is under way
   * @param takers servers that could take a copy of it now; its members' own ones once theirs is
   *     gone
   */
  public record Facts(
      ChunkHandle chunk,
      int goal,
      int least,
      boolean sealed,
      boolean moving,
      List<Copy> members,
      List<Copy> learners,
      Set<ServerId> takers) {}

  /** One thing to do. */
  public sealed interface Step {
    ChunkHandle chunk();
  }

  /**
   * Make one more copy.
   *
   * @param good copies that there are: fewest first
   * @param without servers that have one, or had one that is not yet given up
   */
  public record AddCopy(ChunkHandle chunk, int good, Set<ServerId> without) implements Step {}

  /** Take a copy out of the log; it is deleted where it lies. */
  public record DropCopy(ChunkHandle chunk, Member member, String why) implements Step {}

  /**
   * Go on without a member of an open chunk: only a version without it takes it out of the log.
   * Until then nothing can be acknowledged, and where no other server is left nothing could take
   * its place.
   */
  public record LeaveOut(ChunkHandle chunk, Member member) implements Step {}

  /** Steps for one chunk, at most one of each kind. */
  public List<Step> plan(Facts facts) {
    List<Step> steps = new ArrayList<>();
    int staying = count(facts.members(), Health.GOOD);
    int draining = count(facts.members(), Health.DRAINING);
    int away = count(facts.members(), Health.AWAY);
    int coming = count(facts.learners(), Health.GOOD);
    int good = staying + draining;
    // who is only away for a moment is waited for, unless writing already stands still
    int expected = staying + coming + (good + coming >= facts.least() ? away : 0);
    if (good > 0 && expected < facts.goal()) {
      steps.add(new AddCopy(facts.chunk(), good, servers(facts)));
    }
    for (Copy learner : facts.learners()) {
      if (learner.health() != Health.GOOD && learner.health() != Health.AWAY) {
        steps.add(
            new DropCopy(facts.chunk(), learner.member(), "a copy that will not be finished"));
        return steps;
      }
      if (!facts.moving() && staying >= facts.goal()) {
        steps.add(new DropCopy(facts.chunk(), learner.member(), "not needed any more"));
        return steps;
      }
    }
    if (facts.sealed() && !facts.moving()) {
      dropMember(facts, staying, good, coming, steps);
    }
    if (!facts.sealed() && !facts.moving()) {
      leaveOut(facts, good, steps);
    }
    return steps;
  }

  /** Orders additions: fewest good copies first, older chunks first. */
  public static Comparator<AddCopy> urgency() {
    return Comparator.comparingInt(AddCopy::good).thenComparing(AddCopy::chunk);
  }

  private static void dropMember(Facts facts, int staying, int good, int coming, List<Step> steps) {
    boolean roomElsewhere = !servers(facts).containsAll(facts.takers());
    for (Copy member : facts.members()) {
      // Another one is made first, if it can be: what counts as damaged has most of its blocks, or
      // is whole and had no room. Else it makes room at its server for a good one. But one after
      // the other: the good ones are only believed to be so.
      boolean replaced = staying >= facts.goal();
      boolean makesRoom = !roomElsewhere && facts.takers().contains(member.member().server());
      if (member.health() == Health.DAMAGED
          && good >= 1
          && coming == 0
          && (replaced || makesRoom)) {
        steps.add(new DropCopy(facts.chunk(), member.member(), "damaged"));
        return;
      }
      if (member.health() == Health.BEHIND && good >= facts.least() && coming == 0) {
        steps.add(new DropCopy(facts.chunk(), member.member(), "it lacks what was stored"));
        return;
      }
    }
    if (staying < facts.goal()) {
      return;
    }
    for (Copy member : facts.members()) {
      if (member.health() == Health.LOST
          || member.health() == Health.BEHIND
          || member.health() == Health.DRAINING) {
        String why = member.health() == Health.DRAINING ? "moved away" : "replaced";
        steps.add(new DropCopy(facts.chunk(), member.member(), why));
        return;
      }
    }
    if (staying > facts.goal()) {
      Copy last = null;
      for (Copy member : facts.members()) {
        if (member.health() == Health.GOOD) {
          last = member;
        }
      }
      if (last != null) {
        steps.add(new DropCopy(facts.chunk(), last.member(), "one more than the goal"));
      }
    }
  }

  private static void leaveOut(Facts facts, int good, List<Step> steps) {
    for (Copy member : facts.members()) {
      boolean bad = member.health() == Health.DAMAGED || member.health() == Health.BEHIND;
      if (bad && good >= facts.least()) {
        steps.add(new LeaveOut(facts.chunk(), member.member()));
        return;
      }
    }
  }

  private static int count(List<Copy> copies, Health health) {
    int count = 0;
    for (Copy copy : copies) {
      if (copy.health() == health) {
        count++;
      }
    }
    return count;
  }

  private static Set<ServerId> servers(Facts facts) {
    Set<ServerId> servers = new TreeSet<>();
    facts.members().forEach(copy -> servers.add(copy.member().server()));
    facts.learners().forEach(copy -> servers.add(copy.member().server()));
    return servers;
  }
}
