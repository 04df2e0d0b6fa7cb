/** Workloads that measure a running cluster through the client library. */
@NullMarked
package io.leasefs.cluster.bench;

import org.jspecify.annotations.NullMarked;
