/** The master: namespace, chunks, leases, placement, repair. */
@NullMarked
package io.leasefs.master;

import org.jspecify.annotations.NullMarked;
