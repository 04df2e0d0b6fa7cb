/**
 * A chunkserver put together. {@code ChunkServer} takes in what clients, peers and the master say
 * and hands it to the chunk concerned; each chunk runs on a serial executor of its own.
 */
@NullMarked
package io.leasefs.chunkserver;

import org.jspecify.annotations.NullMarked;
