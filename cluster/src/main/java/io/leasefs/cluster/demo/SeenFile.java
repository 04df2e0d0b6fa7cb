package io.leasefs.cluster.demo;

import io.leasefs.cluster.demo.Evidence.Found;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * What all readers have seen of one file. Its records are all of one length and never change, so
 * each place is kept once (8 bytes), whoever sees it; of a read only until where it went. So an
 * hour of it fits into memory. Any thread.
 */
final class SeenFile {
  /** More of them say nothing new. */
  private static final int MOST_KEPT = 5;

  private static final int NUMBER_BITS = 40;

  /** So that no record is 0, which stands for a place that nobody has seen. */
  private static final int FIRST_CLIENT = 2;

  /**
   * A read that met the end of the file.
   *
   * @param calledNanos before anything of it happened
   * @param answeredNanos when the reader had all of it
   * @param end the length of the file that it saw
   */
  record Look(ReaderKind kind, long calledNanos, long answeredNanos, long end) {}

  private final String file;
  private final int recordBytes;
  private long[] records = new long[1024];
  private int places;
  private final List<Look> looks = new ArrayList<>();
  private final List<String> contradictions = new ArrayList<>();
  private long contradicted;
  private long failed;

  SeenFile(String file, int recordBytes) {
    this.file = file;
    this.recordBytes = recordBytes;
  }

  String file() {
    return file;
  }

  /** A reader sees a record: it must be the one that every other has seen there. */
  synchronized void saw(ReaderKind kind, Found record) {
    int place = Math.toIntExact(record.offset() / recordBytes);
    if (place >= records.length) {
      records = Arrays.copyOf(records, Math.max(place + 1, records.length * 2));
    }
    long packed =
        ((long) (record.client() + FIRST_CLIENT) << NUMBER_BITS)
            + (record.client() < 0 ? 0 : record.number());
    if (records[place] == 0) {
      records[place] = packed;
      places = Math.max(places, place + 1);
    } else if (records[place] != packed) {
      contradicts(kind + ": " + record + " where " + at(place).orElseThrow() + " was seen before");
    }
  }

  /** Something that no file can show. */
  synchronized void contradicts(String what) {
    contradicted++;
    if (contradictions.size() < MOST_KEPT) {
      contradictions.add(what);
    }
  }

  synchronized void ended(Look look) {
    looks.add(look);
  }

  /** A read got no answer: availability is not what readers are for. */
  synchronized void failed() {
    failed++;
  }

  // ---- what came of it ---------------------------------------------------------------------

  /** Above all places that were seen. */
  synchronized int places() {
    return places;
  }

  /** What was seen at a place. */
  synchronized Optional<Found> at(int place) {
    long packed = place < places ? records[place] : 0;
    long number = packed & ((1L << NUMBER_BITS) - 1);
    int client = (int) (packed >> NUMBER_BITS) - FIRST_CLIENT;
    return packed == 0
        ? Optional.empty()
        : Optional.of(new Found(file, client, number, (long) place * recordBytes));
  }

  synchronized List<Look> looks() {
    return List.copyOf(looks);
  }

  /** How often something was seen that no file can show. */
  synchronized long contradicted() {
    return contradicted;
  }

  /** The first of them, for people. */
  synchronized List<String> contradictions() {
    return List.copyOf(contradictions);
  }

  synchronized long failures() {
    return failed;
  }
}
