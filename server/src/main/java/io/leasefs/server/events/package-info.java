/**
 * What a server remembers of leases and replicas, for people and for outside verdicts. Any thread;
 * short critical sections, no I/O of its own: the sink decides where lines go.
 */
@NullMarked
package io.leasefs.server.events;

import org.jspecify.annotations.NullMarked;
