/**
 * Chunks on disk (protocol, section 6): a flat data file that is the content, byte for byte, and
 * beside it a journal. {@link io.leasefs.chunkserver.store.ActionQueue} (one per chunk, on an
 * injected executor, one run at a time) is the only writer of a chunk's files and of its {@link
 * io.leasefs.chunkserver.store.ChunkFile}; reads run on any thread and may block on the disk. The
 * same classes run in the server and in the simulator.
 *
 * <p>The rules that everything here follows:
 *
 * <ul>
 *   <li>Data first, then its record: after a process kill every whole record has its payload.
 *   <li>Payload goes straight to its place only where no byte has been since the last checkpoint;
 *       all other payload is inside the journal. So the journal can redo every overwrite in order
 *       without harm to what came later.
 *   <li>The file is changed in place only after the record that says so (with the new checksums of
 *       the blocks) is fsynced; until that is done a read lays the journal's bytes over the file's.
 *   <li>What is broken below the durable watermark is damage; above it, the end.
 * </ul>
 */
@NullMarked
package io.leasefs.chunkserver.store;

import org.jspecify.annotations.NullMarked;
