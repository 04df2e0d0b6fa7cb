/** CRC32C of pieces and their combination. Pure, any thread. */
@NullMarked
package io.leasefs.common.checksum;

import org.jspecify.annotations.NullMarked;
