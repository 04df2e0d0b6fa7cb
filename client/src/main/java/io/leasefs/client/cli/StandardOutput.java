package io.leasefs.client.cli;

import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/** Standard output that tells when its reader has gone, which {@code System.out} hides. */
final class StandardOutput extends OutputStream {
  private final OutputStream out =
      new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16);

  /** Nobody reads the output any more; the command ends quietly with exit code 141. */
  static final class ClosedPipeException extends RuntimeException {
    ClosedPipeException(IOException cause) {
      super(cause);
    }
  }

  @Override
  public void write(int b) {
    try {
      out.write(b);
    } catch (IOException e) {
      throw new ClosedPipeException(e);
    }
  }

  @Override
  public void write(byte[] bytes, int offset, int length) {
    try {
      out.write(bytes, offset, length);
    } catch (IOException e) {
      throw new ClosedPipeException(e);
    }
  }

  @Override
  public void flush() {
    try {
      out.flush();
    } catch (IOException e) {
      throw new ClosedPipeException(e);
    }
  }
}
