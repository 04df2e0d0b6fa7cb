/**
 * A whole cluster in one deterministic world: the assembled production classes of master,
 * chunkserver and client on one event loop with virtual time, a network that cuts, delays and
 * breaks, disks that tear, and checkers that accept no excuse. One thread runs everything; the same
 * seed gives the same run.
 */
@NullMarked
package io.leasefs.cluster.simulation;

import org.jspecify.annotations.NullMarked;
