/** The closed list of errors and the one exception that crosses modules. Any thread. */
@NullMarked
package io.leasefs.common.error;

import org.jspecify.annotations.NullMarked;
