package io.leasefs.chunkserver.store;

import java.io.IOException;

/** Bytes on the disk do not match their checksum. */
final class CorruptBlockException extends IOException {
  CorruptBlockException(String message) {
    super(message);
  }
}
