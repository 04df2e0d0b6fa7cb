package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;

/** What went wrong with a local file, as one line with the exit code that it deserves. */
final class LocalFailure {
  private LocalFailure() {}

  /** The one that stands where a folder should be: the path itself, or one above it. */
  private static String fileOf(String path) {
    Path at = Path.of(path).toAbsolutePath();
    while (at.getParent() != null && !Files.exists(at)) {
      at = at.getParent();
    }
    return Files.isDirectory(at) ? path : at.toString();
  }

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
    if (error instanceof FileSystemException file
        && (error instanceof NotDirectoryException || "Not a directory".equals(file.getReason()))) {
      return new LeaseFsException(
          ErrorCode.NOT_A_DIRECTORY,
          fileOf(file.getFile()) + ": is a local file, not a folder",
          "name a folder",
          error);
    }
    if (String.valueOf(error.getMessage()).endsWith("Is a directory")) {
      return new LeaseFsException(
          ErrorCode.IS_A_DIRECTORY,
          (error instanceof FileSystemException file ? file.getFile() : "what is to be read")
              + ": is a local folder",
          "name a file",
          error);
    }
    String why =
        error instanceof FileSystemException file && file.getReason() != null
            ? file.getFile() + ": " + file.getReason()
            : String.valueOf(error.getMessage());
    return new LeaseFsException(ErrorCode.INTERNAL, "a local file or stream: " + why, null, error);
  }
}
