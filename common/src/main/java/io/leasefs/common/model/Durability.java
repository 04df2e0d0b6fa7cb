package io.leasefs.common.model;

/** What an acknowledgement of a file's mutations stands for (protocol, section 6). */
public enum Durability {
  /** All members have it in the kernel: survives any process kill. */
  REPLICATED,
  /** All members have fsynced it: survives a power cut of all. */
  SYNCED
}
