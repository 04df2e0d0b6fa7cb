/**
 * The grantor's rules: who holds what until when, and how a chunk changes its configuration. Pure;
 * run by the control loop alone.
 */
@NullMarked
package io.leasefs.master.lease;

import org.jspecify.annotations.NullMarked;
