/**
 * Asking the masters: routing, retries, the session, cached locations. No threads of its own: runs
 * on callers', on the network's and on the injected scheduler's threads.
 */
@NullMarked
package io.leasefs.client.meta;

import org.jspecify.annotations.NullMarked;
