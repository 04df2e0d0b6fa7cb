package io.leasefs.client.data;

import io.leasefs.common.model.AppendResult;
import io.leasefs.common.model.SealedChunk;
import java.util.Optional;

/**
 * What became of a write.
 *
 * @param result where it is; empty for a pure seal
 * @param seal set where the chunk ended with it
 * @param sentOnce true where no second copy of its frame can be under way: its buffer may be reused
 */
public record Written(
    Optional<AppendResult> result, Optional<SealedChunk> seal, boolean sentOnce) {}
