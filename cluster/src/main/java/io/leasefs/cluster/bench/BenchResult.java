package io.leasefs.cluster.bench;

import com.google.common.primitives.ImmutableLongArray;
import io.leasefs.client.cli.Json;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What one workload gave.
 *
 * @param what the part of the workload
 * @param operations how many
 * @param bytes payload moved; 0 where it is not about bytes
 * @param nanos wall time
 * @param cpuSeconds busy CPU seconds of the whole machine: client, servers and kernel; -1 unknown
 * @param clientHeapBytes allocated in this process's heap, by all its threads
 * @param serverHeapBytes the same of all chunkservers together; -1 unknown
 * @param copies of each payload byte that the servers handled
 * @param latencies of each operation, nanoseconds, sorted
 */
record BenchResult(
    String what,
    long operations,
    long bytes,
    long nanos,
    double cpuSeconds,
    long clientHeapBytes,
    long serverHeapBytes,
    int copies,
    ImmutableLongArray latencies) {
  double mebibytesPerSecond() {
    return bytes / (double) (1 << 20) / (nanos / 1e9);
  }

  double perSecond() {
    return operations / (nanos / 1e9);
  }

  /** CPU seconds per GiB; NaN where it is not about bytes. */
  double cpuSecondsPerGibibyte() {
    return bytes == 0 || cpuSeconds < 0 ? Double.NaN : cpuSeconds / (bytes / (double) (1 << 30));
  }

  /** CPU of the machine for one operation; NaN where unknown. */
  double cpuMillisPerOperation() {
    return cpuSeconds < 0 || operations == 0 ? Double.NaN : cpuSeconds * 1000 / operations;
  }

  /** Heap bytes of the client per byte of payload; NaN where it is not about bytes. */
  double clientHeapPerByte() {
    return bytes == 0 ? Double.NaN : clientHeapBytes / (double) bytes;
  }

  /** Heap bytes of a chunkserver per byte of payload that it handled; NaN where unknown. */
  double serverHeapPerByte() {
    return bytes == 0 || serverHeapBytes < 0
        ? Double.NaN
        : serverHeapBytes / ((double) bytes * copies);
  }

  /** Latency at a percentile, milliseconds. */
  double percentileMillis(double percentile) {
    if (latencies.isEmpty()) {
      return Double.NaN;
    }
    int index = (int) Math.ceil(percentile / 100 * latencies.length()) - 1;
    return latencies.get(Math.max(0, index)) / 1e6;
  }

  private static @Nullable Double orNull(double value) {
    return Double.isNaN(value) ? null : value;
  }

  Map<String, Object> json(String workload) {
    return Json.object(
        "workload",
        workload,
        "what",
        what,
        "operations",
        operations,
        "bytes",
        bytes,
        "seconds",
        nanos / 1e9,
        "mebibytesPerSecond",
        bytes == 0 ? null : mebibytesPerSecond(),
        "perSecond",
        perSecond(),
        "cpuSecondsPerGibibyte",
        bytes == 0 || cpuSeconds < 0 ? null : cpuSecondsPerGibibyte(),
        "cpuMillisPerOperation",
        orNull(cpuMillisPerOperation()),
        "p50Millis",
        latencies.isEmpty() ? null : percentileMillis(50),
        "p99Millis",
        latencies.isEmpty() ? null : percentileMillis(99),
        "maxMillis",
        latencies.isEmpty() ? null : percentileMillis(100),
        "clientHeapBytesPerByte",
        orNull(clientHeapPerByte()),
        "serverHeapBytesPerByte",
        orNull(serverHeapPerByte()));
  }
}
