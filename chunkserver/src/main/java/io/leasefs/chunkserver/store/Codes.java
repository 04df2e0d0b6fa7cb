package io.leasefs.chunkserver.store;

import io.leasefs.chunkserver.store.JournalRecord.Place;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.model.Durability;

/** The numbers of the on-disk formats for closed sets: never changed, never reused. */
final class Codes {
  private Codes() {}

  static byte of(MutationKind kind) {
    return switch (kind) {
      case WRITE -> 0;
      case APPEND -> 1;
      case TRUNCATE -> 2;
      case SEAL -> 3;
      case ABORT -> 4;
      case DEAD -> 5;
      case FORGET -> 6;
      case VERSION_START -> 7;
    };
  }

  static MutationKind mutationKind(byte code) {
    return switch (code) {
      case 0 -> MutationKind.WRITE;
      case 1 -> MutationKind.APPEND;
      case 2 -> MutationKind.TRUNCATE;
      case 3 -> MutationKind.SEAL;
      case 4 -> MutationKind.ABORT;
      case 5 -> MutationKind.DEAD;
      case 6 -> MutationKind.FORGET;
      case 7 -> MutationKind.VERSION_START;
      default -> throw new IllegalArgumentException("no kind of mutation: " + code);
    };
  }

  static byte of(Certainty certainty) {
    return switch (certainty) {
      case CERTAIN -> 0;
      case UNCERTAIN -> 1;
      case DAMAGED -> 2;
      case UNKNOWN_CHUNK -> throw new IllegalArgumentException("a chunk that is here is known");
    };
  }

  static Certainty certainty(byte code) {
    return switch (code) {
      case 0 -> Certainty.CERTAIN;
      case 1 -> Certainty.UNCERTAIN;
      case 2 -> Certainty.DAMAGED;
      default -> throw new IllegalArgumentException("no certainty: " + code);
    };
  }

  static byte of(Place place) {
    return switch (place) {
      case DATA_FILE -> 0;
      case JOURNAL -> 1;
      case BOTH -> 2;
    };
  }

  static Place place(byte code) {
    return switch (code) {
      case 0 -> Place.DATA_FILE;
      case 1 -> Place.JOURNAL;
      case 2 -> Place.BOTH;
      default -> throw new IllegalArgumentException("no place of a payload: " + code);
    };
  }

  static byte of(Durability durability) {
    return switch (durability) {
      case REPLICATED -> 0;
      case SYNCED -> 1;
    };
  }

  static Durability durability(byte code) {
    return switch (code) {
      case 0 -> Durability.REPLICATED;
      case 1 -> Durability.SYNCED;
      default -> throw new IllegalArgumentException("no durability: " + code);
    };
  }
}
