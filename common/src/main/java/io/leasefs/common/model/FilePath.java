package io.leasefs.common.model;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** An absolute, normal path: {@code /}, or {@code /a/b} with no empty part, no dots, no NUL. */
public record FilePath(String text) implements Comparable<FilePath> {
  /** The most bytes of UTF-8 in one part. */
  public static final int MAX_NAME_BYTES = 255;

  /** The most bytes of UTF-8 in a path. */
  public static final int MAX_PATH_BYTES = 4096;

  public static final FilePath ROOT = new FilePath("/");

  /**
   * Names that start with this are unfinished puts: no listing shows them, and they vanish with the
   * session that made them unless renamed before.
   */
  public static final String HIDDEN_PREFIX = ".leasefs-put-";

  public FilePath {
    if (!text.startsWith("/")) {
      throw invalid(text.isEmpty() ? "''" : text, "paths begin with '/'");
    }
    if (text.length() > 1) {
      if (text.getBytes(StandardCharsets.UTF_8).length > MAX_PATH_BYTES) {
        throw invalid(text.substring(0, 40) + "...", "a path has at most 4096 bytes");
      }
      for (String name : text.substring(1).split("/", -1)) {
        checkName(text, name);
      }
    }
  }

  private static void checkName(String text, String name) {
    if (name.isEmpty()) {
      throw invalid(text, "empty part: remove the doubled or trailing '/'");
    }
    if (name.equals(".") || name.equals("..")) {
      throw invalid(text, "'.' and '..' are not allowed");
    }
    if (name.indexOf('\0') >= 0) {
      throw invalid(text.replace("\0", "\\0"), "a name holds no NUL");
    }
    if (name.getBytes(StandardCharsets.UTF_8).length > MAX_NAME_BYTES) {
      throw invalid(
          text.substring(0, Math.min(40, text.length())) + "...", "a name has at most 255 bytes");
    }
  }

  private static LeaseFsException invalid(String text, String why) {
    return new LeaseFsException(ErrorCode.INVALID_PATH, text + ": not a valid path", why);
  }

  /** As a user types it: a trailing slash is forgiven, everything else is not. */
  public static FilePath parse(String typed) {
    String text = typed;
    while (text.length() > 1 && text.endsWith("/")) {
      text = text.substring(0, text.length() - 1);
    }
    FilePath path = new FilePath(text);
    if (text.contains("/" + HIDDEN_PREFIX)) {
      throw invalid(text, "names that begin with " + HIDDEN_PREFIX + " are reserved");
    }
    // What a local name becomes that is not UTF-8: two of them would be one.
    if (text.indexOf('\uFFFD') >= 0) {
      throw invalid(text, "a name is not UTF-8: rename it, or set a UTF-8 locale");
    }
    return path;
  }

  /** The parts from the root down; empty for the root. */
  public List<String> names() {
    if (isRoot()) {
      return List.of();
    }
    List<String> names = new ArrayList<>();
    int from = 1;
    while (true) {
      int slash = text.indexOf('/', from);
      if (slash < 0) {
        names.add(text.substring(from));
        return names;
      }
      names.add(text.substring(from, slash));
      from = slash + 1;
    }
  }

  public boolean isRoot() {
    return text.length() == 1;
  }

  /** The last part; empty for the root. */
  public String name() {
    return text.substring(text.lastIndexOf('/') + 1);
  }

  /** The folder that holds it; the root is its own parent. */
  public FilePath parent() {
    int slash = text.lastIndexOf('/');
    return slash <= 0 ? ROOT : new FilePath(text.substring(0, slash));
  }

  public FilePath child(String name) {
    return new FilePath(isRoot() ? "/" + name : text + "/" + name);
  }

  /** True where this is the other, or lies below it. */
  public boolean isWithin(FilePath other) {
    return other.isRoot() || text.equals(other.text) || text.startsWith(other.text + "/");
  }

  @Override
  public int compareTo(FilePath other) {
    return text.compareTo(other.text);
  }

  @Override
  public String toString() {
    return text;
  }
}
