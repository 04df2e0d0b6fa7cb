/**
 * Histories of files, and whether they can have happened: for the simulator and for real servers
 * alike. Pure.
 */
@NullMarked
package io.leasefs.cluster.history;

import org.jspecify.annotations.NullMarked;
