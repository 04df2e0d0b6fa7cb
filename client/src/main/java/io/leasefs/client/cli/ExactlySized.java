package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;

/** Fails where more or fewer bytes come than were announced. For one thread. */
final class ExactlySized implements ReadableByteChannel {
  private final ReadableByteChannel in;
  private final String what;
  private final long size;
  private long came;

  ExactlySized(ReadableByteChannel in, String what, long size) {
    this.in = in;
    this.what = what;
    this.size = size;
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    int got = in.read(into);
    came += Math.max(0, got);
    if (came > size || (got < 0 && came != size)) {
      throw new LeaseFsException(
          ErrorCode.INTERNAL,
          what
              + ": "
              + (got < 0 ? "only " + came : "more than " + size)
              + " bytes came, not "
              + size
              + " as --size said",
          "nothing was kept; see what makes the input, or leave --size away");
    }
    return got;
  }

  @Override
  public boolean isOpen() {
    return in.isOpen();
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
