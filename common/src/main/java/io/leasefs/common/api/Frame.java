package io.leasefs.common.api;

import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.SessionId;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * One atomic mutation, as a client sends it to a primary.
 *
 * <p>Sequence, floor and after count per (session, file).
 *
 * @param file the file, by identity
 * @param chunk the chunk
 * @param version the configuration the client believes active
 * @param token the client's fencing token; 0 = none
 * @param session the client's session
 * @param sequence names the mutation for ever
 * @param floor lowest sequence whose answer the client still awaits
 * @param after the sequence it must follow in this chunk; 0 = none
 * @param kind WRITE, APPEND, TRUNCATE, SEAL or ABORT
 * @param offset of WRITE and TRUNCATE: bytes from the chunk's start; of ABORT: the sequence; else 0
 * @param seals true where a SEAL rides on this frame: the chunk ends right after it
 * @param checksums CRC32C of each 64 KiB piece, counted from the payload's start
 * @param payload 0 to 1 MiB; read-only use: readers duplicate it
 * @param birth on the first frame of a new chunk: what the primary's grant says too
 */
public record Frame(
    FileId file,
    ChunkHandle chunk,
    long version,
    long token,
    SessionId session,
    long sequence,
    long floor,
    long after,
    MutationKind kind,
    long offset,
    boolean seals,
    Checksums checksums,
    ByteBuffer payload,
    Optional<LeaseGrant> birth) {
  /** The most bytes of payload in a frame, and so in a record. */
  public static final int MAX_PAYLOAD = 1 << 20;

  /** The payload bytes that one checksum covers. */
  public static final int PIECE = 1 << 16;

  /** A frame at or above {@code floor + WINDOW} waits at the client. */
  public static final int WINDOW = 64;
}
