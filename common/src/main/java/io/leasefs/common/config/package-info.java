/**
 * Settings of a process: flags over {@code LEASEFS_*} variables over a file over defaults, each
 * with its source. Values are immutable; read once at start-up on the main thread.
 */
@NullMarked
package io.leasefs.common.config;

import org.jspecify.annotations.NullMarked;
