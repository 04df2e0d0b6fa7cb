package io.leasefs.chunkserver.store;

import io.leasefs.common.edge.Disk;
import io.leasefs.common.edge.DiskFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps few file handles for many files: opens a file with its first use, and closes the least
 * recently used ones above the limit, unless they are in use or have bytes that were not forced (a
 * failed write-back must be told to somebody). Any thread.
 */
final class OpenFiles {
  private static final Logger LOG = LoggerFactory.getLogger(OpenFiles.class);

  private final Disk disk;
  private final int limit;

  /** Files with a handle, least recently used first; guarded by itself. */
  private final Map<LazyFile, Boolean> open = new LinkedHashMap<>(16, 0.75f, true);

  OpenFiles(Disk disk, int limit) {
    this.disk = disk;
    this.limit = limit;
  }

  /** A file that is there, opened when it is needed. */
  DiskFile lazy(String name) {
    return new LazyFile(name);
  }

  /** Creates the file where it is missing, and opens it. */
  DiskFile create(String name) throws IOException {
    DiskFile file = open(name, name, true);
    renamed(file);
    return file;
  }

  /** Opens at once a file that is about to be renamed; not closed before {@link #renamed}. */
  DiskFile open(String name, String laterName, boolean create) throws IOException {
    LazyFile file = new LazyFile(laterName);
    DiskFile handle = disk.open(name, create);
    synchronized (file) {
      file.handle = handle;
      file.users = 1;
    }
    return file;
  }

  /** The file has its later name now. */
  void renamed(DiskFile file) {
    LazyFile lazy = (LazyFile) file;
    lazy.done();
    touch(lazy);
  }

  int count() {
    synchronized (open) {
      return open.size();
    }
  }

  private void touch(LazyFile used) {
    LazyFile victim = null;
    synchronized (open) {
      open.put(used, true);
      if (open.size() > limit) {
        Iterator<LazyFile> oldest = open.keySet().iterator();
        for (int tries = 0; tries < 64 && victim == null && oldest.hasNext(); tries++) {
          LazyFile candidate = oldest.next();
          if (candidate != used && candidate.mayClose()) {
            victim = candidate;
            oldest.remove();
          }
        }
      }
    }
    if (victim != null) {
      victim.closeIdle();
    }
  }

  private final class LazyFile implements DiskFile {
    private final String name;

    // Guarded by this.
    private @Nullable DiskFile handle;
    private int users;
    private boolean dirty;
    private boolean closed;

    LazyFile(String name) {
      this.name = name;
    }

    private DiskFile use() throws IOException {
      DiskFile used;
      synchronized (this) {
        if (closed) {
          throw new IOException(name + ": closed");
        }
        users++;
        used = handle;
        if (used == null) {
          try {
            used = disk.open(name, false);
          } catch (IOException | RuntimeException e) {
            users--;
            throw e;
          }
          handle = used;
        }
      }
      touch(this);
      return used;
    }

    private synchronized void done() {
      users--;
    }

    private synchronized boolean mayClose() {
      return users == 0 && !dirty;
    }

    private synchronized void closeIdle() {
      DiskFile idle = handle;
      if (users > 0 || dirty || idle == null) {
        return; // used again meanwhile; it is put back with that use
      }
      handle = null;
      try {
        idle.close();
      } catch (IOException e) {
        // Nothing was written since the last force, so nothing is lost; the handle is gone.
        LOG.warn("close failed file={} error={}", name, e.getMessage());
      }
    }

    private synchronized void soil() {
      dirty = true;
    }

    @Override
    public int read(ByteBuffer target, long position) throws IOException {
      DiskFile used = use();
      try {
        return used.read(target, position);
      } finally {
        done();
      }
    }

    @Override
    public void write(ByteBuffer source, long position) throws IOException {
      DiskFile used = use();
      try {
        soil();
        used.write(source, position);
      } finally {
        done();
      }
    }

    @Override
    public void write(ByteBuffer[] sources, long position) throws IOException {
      DiskFile used = use();
      try {
        soil();
        used.write(sources, position);
      } finally {
        done();
      }
    }

    @Override
    public long size() throws IOException {
      DiskFile used = use();
      try {
        return used.size();
      } finally {
        done();
      }
    }

    @Override
    public void truncate(long length) throws IOException {
      DiskFile used = use();
      try {
        soil();
        used.truncate(length);
      } finally {
        done();
      }
    }

    @Override
    public void force() throws IOException {
      DiskFile used = use();
      try {
        synchronized (this) {
          dirty = false;
        }
        used.force();
      } catch (IOException e) {
        soil();
        throw e;
      } finally {
        done();
      }
    }

    @Override
    public void close() throws IOException {
      DiskFile used;
      synchronized (this) {
        closed = true;
        used = handle;
        handle = null;
      }
      synchronized (open) {
        open.remove(this);
      }
      if (used != null) {
        used.close();
      }
    }

    @Override
    public String toString() {
      return name;
    }
  }
}
