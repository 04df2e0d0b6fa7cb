package io.leasefs.common.model;

/**
 * What {@code stat} tells of a file or folder.
 *
 * @param path where it was found
 * @param id its identity
 * @param folder true for a folder
 * @param lengthBytes of a file: sum of logged seals (an open last chunk is not counted here)
 * @param replication goal: copies wanted
 * @param chunkBytes capacity of its chunks
 * @param durability of its mutations
 * @param mode permission bits, as of chmod; kept, not enforced
 * @param modifiedMillis wall time
 * @param createdMillis wall time
 * @param openWriters sessions that have it open for writing
 * @param chunkCount of a file; of a folder: the number of entries
 */
public record FileStatus(
    FilePath path,
    FileId id,
    boolean folder,
    long lengthBytes,
    int replication,
    long chunkBytes,
    Durability durability,
    int mode,
    long modifiedMillis,
    long createdMillis,
    int openWriters,
    int chunkCount) {}
