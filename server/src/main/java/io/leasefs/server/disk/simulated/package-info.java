/**
 * A disk in memory that forgets what was not forced, tears, rots, fills up and stalls, by a seed:
 * for tests and for the simulator. Thread-safe; nothing but an injected hook blocks.
 */
@NullMarked
package io.leasefs.server.disk.simulated;

import org.jspecify.annotations.NullMarked;
