/**
 * Failovers that anyone can watch and check. {@link io.leasefs.cluster.demo.Verdict} is pure and
 * judges from {@link io.leasefs.cluster.demo.Evidence} alone, and so does {@link
 * io.leasefs.cluster.demo.TortureVerdict}; the rest makes things happen.
 */
@NullMarked
package io.leasefs.cluster.demo;

import org.jspecify.annotations.NullMarked;
