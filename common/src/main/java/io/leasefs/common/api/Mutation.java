package io.leasefs.common.api;

import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.SessionId;
import java.nio.ByteBuffer;

/**
 * A mutation with its place in the chunk's order, as it goes down the chain, into journals and
 * through recovery.
 *
 * @param version the configuration whose primary gave the serial
 * @param serial place in the order, dense from 1
 * @param kind what it does
 * @param offset where, after the primary's choice; of ABORT the sequence; of FORGET the watermark;
 *     of VERSION_START 0, {@link #SEALS} or {@link #REOPENS}
 * @param file the client's file
 * @param session the client's session; 0 for the primary's own
 * @param sequence the client's number; 0 for the primary's own
 * @param floor the client's floor
 * @param chunkLength length of the chunk after this mutation, bytes
 * @param detail of VERSION_START: the fence floor (a token); of DEAD: the session; of WRITE, APPEND
 *     and TRUNCATE: {@link #SEALS} where a SEAL rides on it; else 0
 * @param checksums CRC32C of each 64 KiB piece of the payload
 * @param payload the bytes; empty where there are none, or where they are on disk and were let go;
 *     readers duplicate it
 * @param payloadBytes how many bytes the payload has or had
 */
public record Mutation(
    long version,
    long serial,
    MutationKind kind,
    long offset,
    FileId file,
    SessionId session,
    long sequence,
    long floor,
    long chunkLength,
    long detail,
    Checksums checksums,
    ByteBuffer payload,
    int payloadBytes) {
  /** With all of its payload. */
  public Mutation(
      long version,
      long serial,
      MutationKind kind,
      long offset,
      FileId file,
      SessionId session,
      long sequence,
      long floor,
      long chunkLength,
      long detail,
      Checksums checksums,
      ByteBuffer payload) {
    this(
        version,
        serial,
        kind,
        offset,
        file,
        session,
        sequence,
        floor,
        chunkLength,
        detail,
        checksums,
        payload,
        payload.remaining());
  }

  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  /** Marks a mutation that is the chunk's seal as well as what its kind says. */
  public static final long SEALS = 1;

  /** Marks a VERSION_START with which an earlier seal is over. */
  public static final long REOPENS = 2;

  /** True where the chunk is sealed from this mutation on. */
  public boolean seals() {
    return switch (kind) {
      case SEAL -> true;
      case WRITE, APPEND, TRUNCATE -> detail == SEALS;
      case VERSION_START -> offset == SEALS;
      case ABORT, DEAD, FORGET -> false;
    };
  }

  /** True where an earlier seal is over with this mutation. */
  public boolean reopens() {
    return kind == MutationKind.VERSION_START && offset == REOPENS;
  }

  /** The same without its payload: what is kept once the bytes are on disk. */
  public Mutation withoutPayload() {
    return new Mutation(
        version,
        serial,
        kind,
        offset,
        file,
        session,
        sequence,
        floor,
        chunkLength,
        detail,
        checksums,
        NOTHING,
        payloadBytes);
  }
}
