package io.leasefs.chunkserver.fault;

import io.leasefs.common.edge.Disk;
import io.leasefs.common.edge.DiskFile;
import io.leasefs.common.edge.DiskFullException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.LongConsumer;

/** A disk that can be slow or full. */
public final class FaultyDisk implements Disk {
  private final Disk inner;
  private final Faults faults;
  private final LongConsumer pause;

  /**
   * @param pause makes the calling thread wait for so many nanoseconds
   */
  public FaultyDisk(Disk inner, Faults faults, LongConsumer pause) {
    this.inner = inner;
    this.faults = faults;
    this.pause = pause;
  }

  private void beforeChange(boolean needsRoom) throws IOException {
    long delay = faults.diskDelayNanos();
    if (delay > 0) {
      pause.accept(delay);
    }
    if (needsRoom && faults.diskFull()) {
      throw new DiskFullException("disk full, on demand");
    }
  }

  @Override
  public DiskFile open(String name, boolean create) throws IOException {
    return new File(inner.open(name, create));
  }

  @Override
  public boolean exists(String name) throws IOException {
    return inner.exists(name);
  }

  @Override
  public void delete(String name) throws IOException {
    inner.delete(name);
  }

  @Override
  public void rename(String from, String to) throws IOException {
    inner.rename(from, to);
  }

  @Override
  public void createFolder(String name) throws IOException {
    inner.createFolder(name);
  }

  @Override
  public List<String> list(String folder) throws IOException {
    return inner.list(folder);
  }

  @Override
  public void forceFolder(String folder) throws IOException {
    inner.forceFolder(folder);
  }

  @Override
  public void forceAll() throws IOException {
    beforeChange(false);
    inner.forceAll();
  }

  @Override
  public long freeBytes() throws IOException {
    return faults.diskFull() ? 0 : inner.freeBytes();
  }

  @Override
  public long totalBytes() throws IOException {
    return inner.totalBytes();
  }

  private final class File implements DiskFile {
    private final DiskFile file;

    File(DiskFile file) {
      this.file = file;
    }

    @Override
    public int read(ByteBuffer target, long position) throws IOException {
      return file.read(target, position);
    }

    @Override
    public void write(ByteBuffer source, long position) throws IOException {
      beforeChange(true);
      file.write(source, position);
    }

    @Override
    public void write(ByteBuffer[] sources, long position) throws IOException {
      beforeChange(true);
      file.write(sources, position);
    }

    @Override
    public long size() throws IOException {
      return file.size();
    }

    @Override
    public void truncate(long length) throws IOException {
      beforeChange(false);
      file.truncate(length);
    }

    @Override
    public void force() throws IOException {
      beforeChange(false);
      file.force();
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }
}
