package io.leasefs.cluster.demo;

import io.leasefs.common.api.ChunkApi.ReadMode;

/** The ways to read a file, and what each promises (protocol, section 7). */
enum ReaderKind {
  /** As somebody who follows a file: opened once, its layout as of up to T ago. */
  KEPT("kept open", ReadMode.DEFAULT),
  /** As {@code leasefs cat}: a new client for each read. */
  FRESH("opened anew", ReadMode.DEFAULT),
  STRICT("strict", ReadMode.STRICT),
  STALE_OK("stale ok", ReadMode.STALE_OK);

  /** Any state that once was. */
  static final long ANY_AGE = Long.MAX_VALUE;

  private final String text;
  private final ReadMode mode;

  ReaderKind(String text, ReadMode mode) {
    this.text = text;
    this.mode = mode;
  }

  ReadMode mode() {
    return mode;
  }

  /**
   * How old, when a read is called, the state may be that it sees. After an early seal who has an
   * older layout may see that chunk end too early, until the gate (protocol, section 4): the old
   * primary serves it while its lease lasts, which is less than T_G from the change of version on,
   * and so from the first acknowledgement that it cannot know of.
   *
   * @param writesOn true where appends go on in a new chunk, so that there are early seals
   */
  long oldestNanos(boolean writesOn, long grantorNanos) {
    return switch (this) {
      case KEPT -> writesOn ? grantorNanos : 0;
      case FRESH, STRICT -> 0;
      case STALE_OK -> ANY_AGE;
    };
  }

  /** For people. */
  @Override
  public String toString() {
    return text;
  }
}
