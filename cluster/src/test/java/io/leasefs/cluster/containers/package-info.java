/**
 * Tests on the real image, by Testcontainers, in the profile {@code containers} only. They need a
 * Docker engine that holds the image; without one they fail, never skip.
 */
@NullMarked
package io.leasefs.cluster.containers;

import org.jspecify.annotations.NullMarked;
