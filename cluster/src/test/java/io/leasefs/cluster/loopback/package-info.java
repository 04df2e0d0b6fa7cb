/**
 * A whole cluster in the test's own JVM, and the command line run against it. Tests' threads here,
 * the servers' own below.
 */
@NullMarked
package io.leasefs.cluster.loopback;

import org.jspecify.annotations.NullMarked;
