package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;

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

  /** A reader that has gone is no error; a full disk is one, whatever language says so. */
  private static RuntimeException failed(IOException e) {
    return hasReader()
        ? new ClosedPipeException(e)
        : new LeaseFsException(
            ErrorCode.INTERNAL,
            "standard output: " + e.getMessage(),
            "what was written is not whole: see to room where it goes, and run it again",
            e);
  }

  private static boolean hasReader() {
    try {
      String target = Files.readSymbolicLink(Path.of("/proc/self/fd/1")).toString();
      return target.startsWith("pipe:") || target.startsWith("socket:");
    } catch (IOException | RuntimeException e) {
      return true; // no such file system here: pipes are what fails most
    }
  }

  @Override
  public void write(int b) {
    try {
      out.write(b);
    } catch (IOException e) {
      throw failed(e);
    }
  }

  @Override
  public void write(byte[] bytes, int offset, int length) {
    try {
      out.write(bytes, offset, length);
    } catch (IOException e) {
      throw failed(e);
    }
  }

  @Override
  public void flush() {
    try {
      out.flush();
    } catch (IOException e) {
      throw failed(e);
    }
  }
}
