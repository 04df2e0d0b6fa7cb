/** The threads of a server process, its timer and its source of chance: what mains put together. */
@NullMarked
package io.leasefs.server.threads;

import org.jspecify.annotations.NullMarked;
