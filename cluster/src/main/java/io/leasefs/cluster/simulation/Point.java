package io.leasefs.cluster.simulation;

/** Where a task may be stopped in the middle. */
enum Point {
  /** It has read its clock, and has not used yet what that said. */
  CLOCK_READ,
  /** It is about to ask its disk for something. */
  BEFORE_DISK,
  /** Its disk has done what it was asked for. */
  AFTER_DISK,
  /** It is about to send something to another process. */
  BEFORE_SEND,
  /** What it has sent is on its way. */
  AFTER_SEND,
  /** It is about to hand a task to another thread of its process. */
  BEFORE_HAND_ON,
  /** It is about to look at a master's hard state, which entries go on to change meanwhile. */
  BEFORE_STATE
}
