package io.leasefs.client.cli;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/** Standard output in the format that the user asked for. */
public final class Output {
  private final OutputStream out;
  private final OutputFormat format;
  private final boolean colour;

  Output(OutputStream out, OutputFormat format, boolean colour) {
    this.out = out;
    this.format = format;
    this.colour = colour;
  }

  public OutputFormat format() {
    return format;
  }

  /** The same with more columns where it is a table. */
  Output wide() {
    return new Output(out, format == OutputFormat.TABLE ? OutputFormat.WIDE : format, colour);
  }

  Output names() {
    return new Output(out, isJson() ? format : OutputFormat.NAME, colour);
  }

  /** True where the answer is read by a program. */
  public boolean isJson() {
    return format == OutputFormat.JSON || format == OutputFormat.JSONL;
  }

  /** True where colour may be added; it never carries a meaning alone. */
  public boolean colour() {
    return colour;
  }

  /** A line of text. */
  public void line(String text) {
    bytes((text + "\n").getBytes(StandardCharsets.UTF_8));
  }

  /** Raw bytes. */
  public void bytes(byte[] bytes) {
    try {
      out.write(bytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The stream itself, for contents of files. */
  public OutputStream stream() {
    return out;
  }

  /** A line of a stream that a person or a program follows as it happens. */
  public void event(Map<String, Object> object, String text) {
    line(isJson() ? Json.line(object) : text);
    flush();
  }

  /** One answer. */
  public void answer(Map<String, Object> object, String text) {
    switch (format) {
      case JSON -> line(Json.pretty(object));
      case JSONL -> line(Json.line(object));
      case TABLE, WIDE, NAME -> {
        if (!text.isEmpty()) {
          line(text);
        }
      }
    }
  }

  /** Rows; see {@link Listing} for the marks in headers. */
  public Listing listing(String... headers) {
    return new Listing(this, List.of(headers));
  }

  public void flush() {
    try {
      out.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
