package io.leasefs.client.cli;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.LongConsumer;

/** Copies many files side by side: small ones cost round trips, not bandwidth. */
final class ManyFiles {
  private static final int THREADS = 8;

  private ManyFiles() {}

  /** One file to copy. */
  interface Copy {
    void run(LongConsumer done) throws IOException;

    /** For the line that tells of its failure. */
    String name();
  }

  /** Copies all; a line for each that failed. */
  static List<String> copy(List<? extends Copy> copies, Progress progress)
      throws InterruptedException {
    ExecutorService pool = Executors.newFixedThreadPool(THREADS);
    try {
      LongConsumer done =
          bytes -> {
            synchronized (progress) {
              progress.add(bytes);
            }
          };
      List<Future<?>> results = new ArrayList<>();
      for (Copy copy : copies) {
        results.add(
            pool.submit(
                () -> {
                  copy.run(done);
                  return null;
                }));
      }
      List<String> failed = new ArrayList<>();
      for (int i = 0; i < results.size(); i++) {
        try {
          results.get(i).get();
        } catch (ExecutionException e) {
          Throwable cause = e.getCause() == null ? e : e.getCause();
          String why =
              cause instanceof IOException local
                  ? LocalFailure.of(local).getMessage()
                  : cause.getMessage();
          failed.add(copies.get(i).name() + ": " + why);
        }
      }
      return failed;
    } finally {
      pool.shutdownNow();
    }
  }
}
