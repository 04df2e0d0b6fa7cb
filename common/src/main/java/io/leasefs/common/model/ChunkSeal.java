package io.leasefs.common.model;

/**
 * A committed seal: known by (handle, serial, length), whatever was promised since.
 *
 * @param serial serial of the SEAL mutation
 * @param lengthBytes the chunk's final length
 * @param checksum CRC32C of the whole content
 */
public record ChunkSeal(long serial, long lengthBytes, int checksum) {}
