/**
 * The command line: one class a verb, for the verbs that need only a client. Runs on the main
 * thread of a short-lived process; {@link io.leasefs.client.cli.Cli} is the way in.
 */
@NullMarked
package io.leasefs.client.cli;

import org.jspecify.annotations.NullMarked;
