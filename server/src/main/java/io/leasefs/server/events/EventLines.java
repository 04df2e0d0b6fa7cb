package io.leasefs.server.events;

import io.leasefs.common.edge.DiskFile;
import io.leasefs.common.model.ClusterEvent;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Events as JSON lines, appended to {@code events.jsonl} of a server's data folder so that they
 * outlive the process (not a power cut: nothing is fsynced). One line:
 *
 * <pre>
 * {"number":7,"recorder":"cs1","wallMillis":1764446400123,"monotonicNanos":81230000000,
 *  "kind":"HOLDER_GRANTED","subject":"cs1","chunk":"0x51c","version":8,"fields":{"leftNanos":"9800000000"}}
 * </pre>
 *
 * without the line break inside; {@code subject}, {@code chunk}, {@code version} and {@code fields}
 * are left out where there is nothing to say. The file begins anew, once, when it passes its bound:
 * the old one is not kept. Called under the lock of its {@link EventLog}.
 */
public final class EventLines implements Consumer<ClusterEvent> {
  private static final Logger logger = LoggerFactory.getLogger(EventLines.class);

  /** The most bytes the file grows to. */
  public static final long MAX_BYTES = 64L << 20;

  private final DiskFile file;
  private long length;
  private boolean failed;

  /** Goes on at the end of the file. */
  public EventLines(DiskFile file) throws IOException {
    this.file = file;
    this.length = file.size();
  }

  @Override
  public void accept(ClusterEvent event) {
    byte[] line = (toJson(event) + "\n").getBytes(StandardCharsets.UTF_8);
    try {
      if (length + line.length > MAX_BYTES) {
        file.truncate(0);
        length = 0;
      }
      file.write(ByteBuffer.wrap(line), length);
      length += line.length;
      failed = false;
    } catch (IOException e) {
      if (!failed) {
        logger.warn("events are not written reason=\"{}\"", e.toString());
      }
      failed = true;
    }
  }

  /** One event as a JSON object without a line break. */
  public static String toJson(ClusterEvent event) {
    StringBuilder json = new StringBuilder(200);
    json.append("{\"number\":").append(event.number());
    json.append(",\"recorder\":");
    quote(json, event.recorder().name());
    json.append(",\"wallMillis\":").append(event.wallMillis());
    json.append(",\"monotonicNanos\":").append(event.monotonicNanos());
    json.append(",\"kind\":\"").append(event.kind()).append('"');
    event
        .subject()
        .ifPresent(
            subject -> {
              json.append(",\"subject\":");
              quote(json, subject.name());
            });
    event.chunk().ifPresent(chunk -> json.append(",\"chunk\":\"").append(chunk).append('"'));
    if (event.version() != 0) {
      json.append(",\"version\":").append(event.version());
    }
    if (!event.fields().isEmpty()) {
      json.append(",\"fields\":{");
      String comma = "";
      for (Map.Entry<String, String> field : event.fields().entrySet()) {
        json.append(comma);
        quote(json, field.getKey());
        json.append(':');
        quote(json, field.getValue());
        comma = ",";
      }
      json.append('}');
    }
    return json.append('}').toString();
  }

  private static void quote(StringBuilder json, String text) {
    json.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        json.append('\\').append(c);
      } else if (c < ' ') {
        json.append(String.format("\\u%04x", (int) c));
      } else {
        json.append(c);
      }
    }
    json.append('"');
  }
}
