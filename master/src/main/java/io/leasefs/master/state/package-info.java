/**
 * The hard state of the master and its one way to change: {@code apply}. Pure and deterministic: no
 * clock, no random, no I/O, no lock. Written by the one thread that applies, read under the lock of
 * whoever wraps it; the records handed out are immutable and may be kept.
 */
@NullMarked
package io.leasefs.master.state;

import org.jspecify.annotations.NullMarked;
