package io.leasefs.common.model;

/** A member and where to reach it now. */
public record Location(Member member, ServerAddress address, String rack) {}
