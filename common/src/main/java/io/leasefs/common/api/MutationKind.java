package io.leasefs.common.api;

/** What a frame does to its chunk. The order is the wire's: never change it. */
public enum MutationKind {
  /** Payload at a given offset of the chunk. */
  WRITE,
  /** Payload at the tail; the primary chooses the offset. */
  APPEND,
  /** Cuts the chunk to {@code offset} bytes. */
  TRUNCATE,
  /** Ends the chunk: no later mutation. */
  SEAL,
  /** Makes sure that the sequence {@code offset} of this session is either applied or never. */
  ABORT,
  /** A session is dead: its unknown sequences are refused for ever. Made by the primary. */
  DEAD,
  /** Drops table rows of long-dead sessions. Made by the primary. */
  FORGET,
  /** Begins a version; made by the seed of a recovery. */
  VERSION_START
}
