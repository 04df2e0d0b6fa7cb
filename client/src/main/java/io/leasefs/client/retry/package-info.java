/** When to ask again, and after which pause. Pure. */
@NullMarked
package io.leasefs.client.retry;

import org.jspecify.annotations.NullMarked;
