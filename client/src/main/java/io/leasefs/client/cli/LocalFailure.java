package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;

/** What went wrong with a local file, as one line with the exit code that it deserves. Pure. */
final class LocalFailure {
  private LocalFailure() {}

  /** Local files are told apart from the cluster's by the word "local". */
  static LeaseFsException of(IOException error) {
    if (error instanceof NoSuchFileException missing) {
      return new LeaseFsException(
          ErrorCode.NOT_FOUND, missing.getFile() + ": no such local file", "check the name", error);
    }
    if (error instanceof FileNotFoundException) {
      return new LeaseFsException(
          ErrorCode.NOT_FOUND,
          error.getMessage() + ": no such local file",
          "check the name",
          error);
    }
    if (error instanceof AccessDeniedException denied) {
      return new LeaseFsException(
          ErrorCode.PERMISSION,
          denied.getFile() + ": access to the local file is denied",
          "check its owner and mode",
          error);
    }
    if (error instanceof FileAlreadyExistsException there) {
      return new LeaseFsException(
          ErrorCode.ALREADY_EXISTS,
          there.getFile() + ": the local file exists already",
          "choose another name, or replace it with -f",
          error);
    }
    String why =
        error instanceof FileSystemException file && file.getReason() != null
            ? file.getFile() + ": " + file.getReason()
            : String.valueOf(error.getMessage());
    return new LeaseFsException(ErrorCode.INTERNAL, "a local file or stream: " + why, null, error);
  }
}
