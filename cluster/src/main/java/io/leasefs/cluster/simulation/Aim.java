package io.leasefs.cluster.simulation;

import org.jspecify.annotations.Nullable;

/**
 * Which task of a process is to be stopped in the middle, where, and for how long. Used up by the
 * task that it stops.
 */
final class Aim {
  private final Point point;
  private final @Nullable String task;
  private final long pauseNanos;
  private int left;

  /**
   * @param task the kind of task; null: any
   * @param skipped how many such points are passed before
   * @param pauseNanos true time that passes until it goes on
   */
  Aim(Point point, @Nullable String task, int skipped, long pauseNanos) {
    this.point = point;
    this.task = task;
    this.left = skipped;
    this.pauseNanos = pauseNanos;
  }

  /** Whether a task of this kind may be the one. */
  boolean isAt(String what) {
    return task == null || task.equals(what);
  }

  /** A task that may be the one passes a point: does it stop there. */
  boolean hits(Point passed) {
    return passed == point && left-- <= 0;
  }

  long pauseNanos() {
    return pauseNanos;
  }

  @Override
  public String toString() {
    return point + (task == null ? "" : " of " + task);
  }
}
