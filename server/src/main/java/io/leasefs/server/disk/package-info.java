/**
 * The real disk behind {@code common.edge.Disk}, and the queue that lets one fsync answer many. Any
 * thread; calls block for as long as the disk does.
 */
@NullMarked
package io.leasefs.server.disk;

import org.jspecify.annotations.NullMarked;
