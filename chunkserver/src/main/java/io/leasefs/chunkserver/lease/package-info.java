/**
 * The holder's side of leases (protocol, sections 1 and 2). Pure; stepped by the master session's
 * executor alone, while {@link io.leasefs.chunkserver.lease.LeaseValidity} may be asked from any.
 */
@NullMarked
package io.leasefs.chunkserver.lease;

import org.jspecify.annotations.NullMarked;
