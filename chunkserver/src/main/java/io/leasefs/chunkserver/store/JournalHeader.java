package io.leasefs.chunkserver.store;

import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Member;

/** What a journal says of itself in its first sector: which copy of which chunk it is. */
record JournalHeader(ChunkSpec spec, Member self) {}
