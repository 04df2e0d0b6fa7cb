/**
 * Moving bytes: {@code WriteCore} decides (pure), shells carry out. No threads of its own: runs on
 * callers', on the network's and on the injected scheduler's threads, one at a time per file.
 */
@NullMarked
package io.leasefs.client.data;

import org.jspecify.annotations.NullMarked;
