/**
 * Faults on demand, for demonstrations and torture: decorators around the server's edges, in place
 * only where the server was started to allow them. No rule of the protocol knows of them. Any
 * thread.
 */
@NullMarked
package io.leasefs.chunkserver.fault;

import org.jspecify.annotations.NullMarked;
