package io.leasefs.client.cli;

/** How answers are printed. */
public enum OutputFormat {
  TABLE,
  /** The table with more columns. */
  WIDE,
  /** One JSON value for an answer, a line each for a stream. */
  JSON,
  /** One JSON line each. */
  JSONL,
  /** Only names, a line each: for scripts. */
  NAME
}
