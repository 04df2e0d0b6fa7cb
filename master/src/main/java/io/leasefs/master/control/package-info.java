/** The one serial core of the master: events in, actions out; sole writer of all soft state. */
@NullMarked
package io.leasefs.master.control;

import org.jspecify.annotations.NullMarked;
