package io.leasefs.cluster.simulation;

/** Thrown in the middle of a task: the process is gone, and nothing after this line happens. */
final class ProcessDied extends Error {
  private static final long serialVersionUID = 1;

  ProcessDied(String host) {
    super(host, null, false, false);
  }
}
