/**
 * What one process asks another, in model types: the seam between the modules. Implemented by the
 * servers' cores and shells, and over gRPC by {@code common.rpc}. All calls are asynchronous; a
 * failed future carries a {@link io.leasefs.common.error.LeaseFsException}.
 */
@NullMarked
package io.leasefs.common.api;

import org.jspecify.annotations.NullMarked;
