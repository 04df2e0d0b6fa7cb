package io.leasefs.chunkserver.fault;

/**
 * What can be done to the process as a whole. Any thread; both return at once, and happen a moment
 * later.
 */
public interface Harm {
  /** Ends it as SIGKILL does. */
  void kill();

  /** All of it stands still for so long, and then goes on. */
  void freeze(long nanos);
}
