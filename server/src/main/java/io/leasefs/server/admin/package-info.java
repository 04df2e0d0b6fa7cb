/**
 * The admin port of a server: health, metrics and pages that others plug in, over plain HTTP on
 * loopback. Each request runs on a virtual thread of its own.
 */
@NullMarked
package io.leasefs.server.admin;

import org.jspecify.annotations.NullMarked;
