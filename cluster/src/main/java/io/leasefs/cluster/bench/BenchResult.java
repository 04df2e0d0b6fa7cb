package io.leasefs.cluster.bench;

import com.google.common.primitives.ImmutableLongArray;
import io.leasefs.client.cli.Json;
import java.util.Map;

/**
 * What one workload gave.
 *
 * @param what the part of the workload
 * @param operations how many
 * @param bytes payload moved; 0 where it is not about bytes
 * @param nanos wall time
 * @param cpuSeconds busy CPU seconds of the whole machine: client, servers and kernel; -1 unknown
 * @param heapBytes allocated in this process's heap by the threads that did the work
 * @param latencies of each operation, nanoseconds, sorted
 */
record BenchResult(
    String what,
    long operations,
    long bytes,
    long nanos,
    double cpuSeconds,
    long heapBytes,
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

  /** Latency at a percentile, milliseconds. */
  double percentileMillis(double percentile) {
    if (latencies.isEmpty()) {
      return Double.NaN;
    }
    int index = (int) Math.ceil(percentile / 100 * latencies.length()) - 1;
    return latencies.get(Math.max(0, index)) / 1e6;
  }

  Map<String, Object> json(String workload) {
    return Json.object(
        "workload", workload,
        "what", what,
        "operations", operations,
        "bytes", bytes,
        "seconds", nanos / 1e9,
        "mebibytesPerSecond", bytes == 0 ? null : mebibytesPerSecond(),
        "perSecond", perSecond(),
        "cpuSecondsPerGibibyte", bytes == 0 || cpuSeconds < 0 ? null : cpuSecondsPerGibibyte(),
        "cpuMillisPerOperation",
            cpuSeconds < 0 || operations == 0 ? null : cpuSeconds * 1000 / operations,
        "p50Millis", latencies.isEmpty() ? null : percentileMillis(50),
        "p99Millis", latencies.isEmpty() ? null : percentileMillis(99),
        "maxMillis", latencies.isEmpty() ? null : percentileMillis(100),
        "heapBytesPerByte", bytes == 0 ? null : heapBytes / (double) bytes);
  }
}
