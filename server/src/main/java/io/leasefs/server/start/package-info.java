/**
 * What the mains of both servers share: settings, logging, the lock and identity of a data folder,
 * and the order in which a process stops. Runs on the main thread; stopping runs on the JVM's
 * shutdown thread.
 */
@NullMarked
package io.leasefs.server.start;

import org.jspecify.annotations.NullMarked;
