package io.leasefs.common.model;

/**
 * A seal and the chunk that it is of.
 *
 * @param chunk the chunk that ended
 * @param seal its committed seal
 */
public record SealedChunk(ChunkHandle chunk, ChunkSeal seal) {}
