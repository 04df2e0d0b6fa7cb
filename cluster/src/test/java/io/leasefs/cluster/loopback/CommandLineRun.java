package io.leasefs.cluster.loopback;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import java.io.IOException;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;

/** What one command line left behind. */
final class CommandLineRun {
  private final List<String> arguments;
  private final int exit;
  private final byte[] out;
  private final String err;

  CommandLineRun(List<String> arguments, int exit, byte[] out, String err) {
    this.arguments = arguments;
    this.exit = exit;
    this.out = out;
    this.err = err;
  }

  int exit() {
    return exit;
  }

  byte[] outBytes() {
    return out;
  }

  String err() {
    return err;
  }

  /** Standard output as text. */
  String out() {
    return new String(out, UTF_8);
  }

  List<String> outLines() {
    return out().lines().toList();
  }

  /** Fails, showing both streams, unless it ended with this code. */
  CommandLineRun mustBe(int code) {
    assertThat(exit).as("leasefs %s%nout: %s%nerr: %s", arguments, out(), err).isEqualTo(code);
    return this;
  }

  /** Fails unless it ended with this code, said nothing on stdout, and this as the error line. */
  CommandLineRun mustFail(int code, String... partsOfTheLine) {
    mustBe(code);
    assertThat(out()).as("stdout of %s", arguments).isEmpty();
    List<String> lines = err.lines().toList();
    assertThat(lines).as("stderr of %s", arguments).hasSizeBetween(1, 2);
    assertThat(lines.get(0)).startsWith("leasefs: ").contains(partsOfTheLine);
    if (lines.size() == 2) {
      assertThat(lines.get(1)).startsWith("hint: ");
    }
    return this;
  }

  /** All JSON values of standard output, one after another. */
  List<JsonElement> json() {
    List<JsonElement> values = new ArrayList<>();
    try (JsonReader reader = new JsonReader(new StringReader(out()))) {
      reader.setStrictness(Strictness.LENIENT); // several values at the top
      while (reader.peek() != JsonToken.END_DOCUMENT) {
        values.add(JsonParser.parseReader(reader));
      }
    } catch (IOException e) {
      throw new AssertionError("stdout of " + arguments + " is no JSON: " + out(), e);
    }
    return values;
  }
}
