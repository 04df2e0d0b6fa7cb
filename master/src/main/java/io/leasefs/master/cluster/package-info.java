/**
 * Who is alive and which copies there are, by what servers report. Soft state of the control loop.
 */
@NullMarked
package io.leasefs.master.cluster;

import org.jspecify.annotations.NullMarked;
