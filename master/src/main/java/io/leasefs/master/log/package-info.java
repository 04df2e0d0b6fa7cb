/**
 * The vocabulary of the master's log: operations, their results, and the log that orders them.
 * Values; any thread. Whoever appends hears of the result on the thread that applies.
 */
@NullMarked
package io.leasefs.master.log;

import org.jspecify.annotations.NullMarked;
