/**
 * Copies of chunks on their way from one server to another. The source hands out one committed
 * state; the copier pulls until it is near, and makes it a copy of its own. Runs on pool threads
 * that may wait for the disk.
 */
@NullMarked
package io.leasefs.chunkserver.copy;

import org.jspecify.annotations.NullMarked;
