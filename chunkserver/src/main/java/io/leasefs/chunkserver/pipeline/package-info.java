/**
 * The streams between this server and its peers: one per peer for what goes down a chain, whose
 * other direction carries the answers. Any thread; whoever puts a message also sends what is queued
 * before it, outside of every lock.
 */
@NullMarked
package io.leasefs.chunkserver.pipeline;

import org.jspecify.annotations.NullMarked;
