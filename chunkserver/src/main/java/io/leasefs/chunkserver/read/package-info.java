/**
 * Committed bytes on their way out: pumped from the store into sinks, a part at a time and only
 * while the sink takes them. Runs on a bounded number of threads that may wait for the disk.
 */
@NullMarked
package io.leasefs.chunkserver.read;

import org.jspecify.annotations.NullMarked;
