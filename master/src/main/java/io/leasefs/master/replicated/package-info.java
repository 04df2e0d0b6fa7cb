/**
 * The hard state behind a lock, and its checkpoints. Written by the one thread that applies; read
 * by any.
 *
 * <h2>A checkpoint file</h2>
 *
 * <pre>
 * file    = magic version block* end
 * magic   = 8 bytes "LEASEFSC"
 * version = u32                       ; 1
 * block   = length crc bytes          ; u32 in 1..65536, u32 CRC32C of the bytes, the bytes
 * end     = u32 0, crc, total         ; u32 CRC32C of total, u64 bytes in all blocks
 * content = part*                     ; the blocks' bytes put together
 * part    = number | string
 * number  = zigzag, then 7 bits a byte, lowest first, the top bit set but in the last byte
 * string  = number bytes              ; how many, then they
 * </pre>
 *
 * All fixed-width numbers are big-endian. The content is what {@code MetadataState.write} gives:
 * last applied ordinal, cluster id, generation, forgetting; servers, sessions, clients with their
 * results; files and folders (parents first), trash, doomed, openings, fences, unfinished puts;
 * chunks. For example a state after one FoundCluster("c1") at ordinal 1 begins {@code 02 04 63 31
 * 00 00}.
 */
@NullMarked
package io.leasefs.master.replicated;

import org.jspecify.annotations.NullMarked;
