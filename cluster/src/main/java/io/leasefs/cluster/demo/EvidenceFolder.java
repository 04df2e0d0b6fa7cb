package io.leasefs.cluster.demo;

import static java.util.Objects.requireNonNull;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import io.leasefs.cluster.demo.Evidence.Acknowledged;
import io.leasefs.cluster.demo.Evidence.Copy;
import io.leasefs.cluster.demo.Evidence.Facts;
import io.leasefs.cluster.demo.Evidence.Found;
import io.leasefs.cluster.demo.Evidence.Refused;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.ServerId;
import io.leasefs.server.events.EventLines;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Evidence as files that anyone can read: {@code facts.json}, and JSON lines in {@code
 * acknowledged.jsonl}, {@code refused.jsonl}, {@code found.jsonl}, {@code copies.jsonl} and {@code
 * events.jsonl}.
 */
final class EvidenceFolder {
  private static final Gson GSON = new Gson();

  private final Path folder;

  EvidenceFolder(Path folder) {
    this.folder = folder;
  }

  void write(Evidence evidence) throws IOException {
    Files.createDirectories(folder);
    Files.writeString(folder.resolve("facts.json"), GSON.toJson(evidence.facts()) + "\n");
    lines("acknowledged.jsonl", evidence.acknowledged(), GSON::toJson);
    lines("refused.jsonl", evidence.refused(), GSON::toJson);
    lines("found.jsonl", evidence.found(), GSON::toJson);
    lines("copies.jsonl", evidence.copies(), GSON::toJson);
    lines("events.jsonl", evidence.events(), EventLines::toJson);
  }

  private <T> void lines(String name, List<T> values, Function<T, String> toJson)
      throws IOException {
    try (BufferedWriter out = Files.newBufferedWriter(folder.resolve(name))) {
      for (T value : values) {
        out.write(toJson.apply(value));
        out.newLine();
      }
    }
  }

  /**
   * Reads all of it.
   *
   * @throws LeaseFsException where a file is missing, or a line is not what it should be
   */
  Evidence read() throws IOException {
    List<Facts> facts = parse("facts.json", text -> of(text, Facts.class));
    if (facts.size() != 1) {
      throw unreadable(folder.resolve("facts.json"), 1, facts.size() + " lines, not one");
    }
    try {
      Bounds _ = Bounds.of(facts.getFirst());
    } catch (IllegalArgumentException e) {
      throw unreadable(folder.resolve("facts.json"), 1, String.valueOf(e.getMessage()));
    }
    return new Evidence(
        facts.getFirst(),
        parse("acknowledged.jsonl", text -> of(text, Acknowledged.class)),
        parse("refused.jsonl", text -> of(text, Refused.class)),
        parse("found.jsonl", text -> of(text, Found.class)),
        parse("copies.jsonl", text -> of(text, Copy.class)),
        parse("events.jsonl", text -> event(of(text, JsonObject.class))));
  }

  private static <T> T of(String text, Class<T> type) {
    return requireNonNull(GSON.fromJson(text, type), "an empty line");
  }

  private <T> List<T> parse(String name, Function<String, T> fromJson) throws IOException {
    Path file = folder.resolve(name);
    List<String> lines;
    try {
      lines = Files.readAllLines(file);
    } catch (NoSuchFileException e) {
      throw new LeaseFsException(
          ErrorCode.NOT_FOUND,
          folder + ": no " + name + ", so this is not the evidence of a demo",
          "make it with 'leasefs demo failover --evidence " + folder + "'");
    } catch (CharacterCodingException e) {
      throw unreadable(file, 1, "not UTF-8 text");
    }
    List<T> values = new ArrayList<>();
    for (String line : lines) {
      try {
        values.add(fromJson.apply(line));
      } catch (RuntimeException e) { // of the reader of JSON, or of a constructor that checks
        Throwable cause = e.getCause() == null ? e : e.getCause();
        throw unreadable(file, values.size() + 1, String.valueOf(cause.getMessage()));
      }
    }
    return values;
  }

  private static LeaseFsException unreadable(Path file, int line, String why) {
    return new LeaseFsException(
        ErrorCode.INVALID_ARGUMENT, file + ":" + line + ": cannot be read: " + why);
  }

  /** Events of one server's {@code events.jsonl}; a torn last line is left out. */
  static List<ClusterEvent> readEvents(Path file) throws IOException {
    List<ClusterEvent> events = new ArrayList<>();
    for (String line : Files.readAllLines(file)) {
      if (line.endsWith("}")) {
        events.add(event(GSON.fromJson(line, JsonObject.class)));
      }
    }
    return events;
  }

  private static ClusterEvent event(JsonObject json) {
    Map<String, String> fields = new TreeMap<>();
    if (json.has("fields")) {
      json.getAsJsonObject("fields").asMap().forEach((k, v) -> fields.put(k, v.getAsString()));
    }
    return new ClusterEvent(
        json.get("number").getAsLong(),
        new ServerId(json.get("recorder").getAsString()),
        json.get("wallMillis").getAsLong(),
        json.get("monotonicNanos").getAsLong(),
        EventKind.valueOf(json.get("kind").getAsString()),
        Optional.ofNullable(text(json, "subject")).map(ServerId::new),
        Optional.ofNullable(text(json, "chunk")).map(ChunkHandle::parse),
        json.has("version") ? json.get("version").getAsLong() : 0,
        fields);
  }

  private static @Nullable String text(JsonObject json, String key) {
    return json.has(key) ? json.get(key).getAsString() : null;
  }
}
