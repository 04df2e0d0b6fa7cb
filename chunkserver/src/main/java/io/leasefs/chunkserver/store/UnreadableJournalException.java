package io.leasefs.chunkserver.store;

import java.io.IOException;

/** Not even the header of a journal can be read: which copy of what it is stays unknown. */
final class UnreadableJournalException extends IOException {
  UnreadableJournalException(String message) {
    super(message);
  }
}
