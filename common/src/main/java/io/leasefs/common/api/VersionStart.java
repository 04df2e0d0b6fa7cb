package io.leasefs.common.api;

/**
 * One line of a replica's history: a version and the serial at which it starts.
 *
 * @param version of the chunk
 * @param firstSerial serial of its VERSION_START; 0 for version 1
 */
public record VersionStart(long version, long firstSerial) {}
