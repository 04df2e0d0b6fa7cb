/** The verbs that need more than a client; each runs on the main thread. */
@NullMarked
package io.leasefs.cluster.cli;

import org.jspecify.annotations.NullMarked;
