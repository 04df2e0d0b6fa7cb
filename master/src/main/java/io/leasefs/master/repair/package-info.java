/**
 * Which copies to make and to drop: a pure planner from facts to a plan. Run by the control loop.
 */
@NullMarked
package io.leasefs.master.repair;

import org.jspecify.annotations.NullMarked;
