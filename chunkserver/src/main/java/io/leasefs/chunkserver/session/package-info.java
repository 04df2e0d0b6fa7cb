/**
 * The server's session with the master: registration, heartbeat, and what each carries. {@code
 * SessionCore} decides, without I/O or clock; {@code MasterSession} carries out, on one serial
 * executor of its own, so that data never delays a heartbeat.
 */
@NullMarked
package io.leasefs.chunkserver.session;

import org.jspecify.annotations.NullMarked;
