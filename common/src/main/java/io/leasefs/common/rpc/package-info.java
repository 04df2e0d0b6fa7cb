/**
 * The APIs of {@code common.api} over gRPC, both sides: the only package that sees {@code io.grpc}.
 * Callbacks run on gRPC's event loops and hand on at once; nothing here blocks.
 */
@NullMarked
package io.leasefs.common.rpc;

import org.jspecify.annotations.NullMarked;
