package io.leasefs.client.edge;

import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.RandomSource;
import io.leasefs.common.edge.Scheduler;

/** Everything that a client takes from outside; the simulator gives its own. */
public record ClientEdges(Clock clock, Scheduler scheduler, RandomSource random, Network network) {}
