package io.leasefs.master.log.ratis;

/** Told when the log can go on no more; the process must stop with this line. */
public interface FatalListener {
  /** Called at most a few times, on a thread of the log. */
  void failed(String line, Throwable cause);
}
