/** Where new copies go: pure functions from facts to a choice. Run by the control loop. */
@NullMarked
package io.leasefs.master.placement;

import org.jspecify.annotations.NullMarked;
