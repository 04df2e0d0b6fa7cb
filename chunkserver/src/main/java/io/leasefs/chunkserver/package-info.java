/** The chunkserver: chunks on disk, mutation order, copying. */
@NullMarked
package io.leasefs.chunkserver;

import org.jspecify.annotations.NullMarked;
