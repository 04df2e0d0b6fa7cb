/** A whole cluster in one place: the command, mini-cluster, demo, bench, simulator. */
@NullMarked
package io.leasefs.cluster;

import org.jspecify.annotations.NullMarked;
