/** What the client needs from the world outside, injected: time, chance, network. */
@NullMarked
package io.leasefs.client.edge;

import org.jspecify.annotations.NullMarked;
