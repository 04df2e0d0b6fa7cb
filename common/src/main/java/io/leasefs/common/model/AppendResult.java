package io.leasefs.common.model;

/**
 * Where an appended record is, for ever.
 *
 * @param fileOffset its first byte in the file
 * @param chunk the chunk that holds it
 * @param chunkOffset its first byte in the chunk
 * @param version the configuration whose primary ordered it
 * @param serial its place in the chunk's order
 * @param sequence the client's number for it
 */
public record AppendResult(
    long fileOffset,
    ChunkHandle chunk,
    long chunkOffset,
    long version,
    long serial,
    long sequence) {}
