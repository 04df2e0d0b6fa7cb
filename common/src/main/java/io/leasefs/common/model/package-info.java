/** The values that all modules speak in: validated records. Any thread. */
@NullMarked
package io.leasefs.common.model;

import org.jspecify.annotations.NullMarked;
