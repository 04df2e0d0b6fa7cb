/**
 * The rules of one chunk's copy (protocol, sections 4 to 8): promise, order, table of results, seal
 * and recovery. Pure: no clock, I/O, lock or thread; runs on whichever executor the shell has given
 * the chunk, one step at a time.
 */
@NullMarked
package io.leasefs.chunkserver.replica;

import org.jspecify.annotations.NullMarked;
