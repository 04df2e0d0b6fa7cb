/** Servers by hand, for the client's tests. */
@NullMarked
package io.leasefs.client.fake;

import org.jspecify.annotations.NullMarked;
