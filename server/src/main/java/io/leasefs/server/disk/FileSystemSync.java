package io.leasefs.server.disk;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;

/** Linux' {@code syncfs}, by foreign-function calls: java.nio has nothing like it. */
final class FileSystemSync {
  private static final int O_RDONLY = 0;
  private static final int O_CLOEXEC = 0x80000;

  private static final Linker.Option ERRNO = Linker.Option.captureCallState("errno");
  private static final MemoryLayout STATE = Linker.Option.captureStateLayout();
  private static final VarHandle STATE_ERRNO =
      STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));

  private static final MethodHandle OPEN =
      function(
          "open",
          FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_INT),
          ERRNO,
          Linker.Option.firstVariadicArg(2));
  private static final MethodHandle SYNCFS =
      function("syncfs", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT), ERRNO);
  private static final MethodHandle CLOSE =
      function("close", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));

  private FileSystemSync() {}

  @SuppressWarnings("restricted") // the JVM is started with enable-native-access
  private static MethodHandle function(
      String name, FunctionDescriptor type, Linker.Option... options) {
    Linker linker = Linker.nativeLinker();
    return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), type, options);
  }

  /**
   * Makes everything written to the file system that holds this folder durable.
   *
   * @throws IOException where the kernel says no; since Linux 5.8 also where a write-back failed
   */
  static void sync(Path folder) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(STATE);
      int descriptor =
          (int)
              OPEN.invokeExact(state, arena.allocateFrom(folder.toString()), O_RDONLY | O_CLOEXEC);
      check(descriptor, "open", state);
      try {
        check((int) SYNCFS.invokeExact(state, descriptor), "syncfs", state);
      } finally {
        var _ = (int) CLOSE.invokeExact(descriptor);
      }
    } catch (IOException | RuntimeException e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("syncfs cannot be called", e);
    }
  }

  private static void check(int result, String function, MemorySegment state) throws IOException {
    if (result < 0) {
      throw new IOException(function + " failed, errno " + (int) STATE_ERRNO.get(state, 0L));
    }
  }
}
