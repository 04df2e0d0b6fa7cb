/**
 * The master's log on Apache Ratis: the only package that sees it. Used for the order of entries
 * and for terms, never for time. Entries are applied by Ratis' one updater thread; everything else
 * is thread-safe.
 */
@NullMarked
package io.leasefs.master.log.ratis;

import org.jspecify.annotations.NullMarked;
