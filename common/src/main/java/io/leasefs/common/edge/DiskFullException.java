package io.leasefs.common.edge;

import java.io.IOException;

/** The disk has no room for what was to be written; a part of it may have been. */
public final class DiskFullException extends IOException {
  /** The message names the file. */
  public DiskFullException(String message) {
    super(message);
  }
}
