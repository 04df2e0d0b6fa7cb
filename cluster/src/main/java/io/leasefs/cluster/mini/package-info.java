/**
 * A whole cluster as child processes on loopback. Used by one thread at a time; each child has a
 * reader thread of its own for its output.
 */
@NullMarked
package io.leasefs.cluster.mini;

import org.jspecify.annotations.NullMarked;
