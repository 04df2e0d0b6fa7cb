/**
 * Interfaces to the world outside the cores: time, chance, disk. Implemented for real in {@code
 * server} and, bent and torn, in the simulator. Each interface states its threads, blocking and
 * durability.
 */
@NullMarked
package io.leasefs.common.edge;

import org.jspecify.annotations.NullMarked;
