package io.leasefs.server.disk;

import static io.leasefs.server.disk.LocalDisk.named;

import io.leasefs.common.edge.DiskFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** An open file of a {@link LocalDisk}. Any thread. */
final class LocalFile implements DiskFile {
  private final Path path;
  private final FileChannel channel;

  /** Guards the channel's position: java.nio gathers only from there, not from an argument. */
  private final Object position = new Object();

  private volatile @Nullable IOException forceFailure;

  LocalFile(Path path, FileChannel channel) {
    this.path = path;
    this.channel = channel;
  }

  @Override
  public int read(ByteBuffer target, long from) throws IOException {
    int total = 0;
    try {
      while (target.hasRemaining()) {
        int count = channel.read(target, from + total);
        if (count < 0) {
          return total == 0 ? -1 : total;
        }
        total += count;
      }
    } catch (IOException e) {
      throw named("read at " + from, path, e);
    }
    return total;
  }

  @Override
  public void write(ByteBuffer source, long from) throws IOException {
    long at = from;
    try {
      while (source.hasRemaining()) {
        at += channel.write(source, at);
      }
    } catch (IOException e) {
      throw named("write at " + at, path, e);
    }
  }

  @Override
  public void write(ByteBuffer[] sources, long from) throws IOException {
    if (sources.length == 1) {
      write(sources[0], from);
      return;
    }
    long left = 0;
    for (ByteBuffer source : sources) {
      left += source.remaining();
    }
    try {
      synchronized (position) {
        channel.position(from);
        int first = 0;
        while (left > 0) {
          while (!sources[first].hasRemaining()) {
            first++;
          }
          left -= channel.write(sources, first, sources.length - first);
        }
      }
    } catch (IOException e) {
      throw named("write at " + from, path, e);
    }
  }

  @Override
  public long size() throws IOException {
    try {
      return channel.size();
    } catch (IOException e) {
      throw named("size", path, e);
    }
  }

  @Override
  public void truncate(long length) throws IOException {
    try {
      channel.truncate(length);
    } catch (IOException e) {
      throw named("truncate to " + length, path, e);
    }
  }

  @Override
  public void force() throws IOException {
    IOException before = forceFailure;
    if (before != null) {
      throw new IOException("force " + path + ": an earlier force failed", before);
    }
    try {
      channel.force(false);
    } catch (IOException e) {
      IOException failure = named("force", path, e);
      forceFailure = failure;
      throw failure;
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }

  @Override
  public String toString() {
    return path.toString();
  }
}
