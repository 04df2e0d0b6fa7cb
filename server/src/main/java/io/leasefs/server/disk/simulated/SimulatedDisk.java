package io.leasefs.server.disk.simulated;

import io.leasefs.common.edge.Disk;
import io.leasefs.common.edge.DiskFile;
import io.leasefs.common.edge.DiskFullException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A {@link Disk} in memory with the weakest behaviour that its contract allows, by a seed.
 *
 * <p>{@link #killProcess} keeps all that was written. {@link #cutPower} keeps what was forced and,
 * of the rest, a random choice: per sector or page for bytes, per operation for names. Both break
 * every open file; reopen after them. Faults: {@link #setTotalBytes} (ENOSPC, with a part written),
 * {@link #failForces}, {@link #flipBit}, {@link #loseWrites}, {@link #dieAfter} (a crash at any
 * operation), {@link #setHook} (stalls, and errors of one's own), {@link #image} and {@link
 * #restore} (an old image put back), {@link #wipe}.
 */
public final class SimulatedDisk implements Disk {
  /** What is about to happen, for {@link Hook}. */
  public enum Operation {
    OPEN,
    READ,
    WRITE,
    TRUNCATE,
    FORCE,
    RENAME,
    DELETE,
    CREATE_FOLDER,
    LIST,
    FORCE_FOLDER,
    FORCE_ALL
  }

  /** Called around each operation, outside the disk's lock; may throw, wait or let time pass. */
  @FunctionalInterface
  public interface Hook {
    /** The name is the file's or folder's. */
    void before(Operation operation, String name) throws IOException;

    /** It has succeeded. */
    default void after(Operation operation, String name) {}
  }

  /** An old state of the whole disk. */
  public static final class Image {
    private final Map<String, SimulatedContent> files = new TreeMap<>();
    private final TreeSet<String> folders = new TreeSet<>();

    private Image() {}
  }

  private static final long UNKNOWN = -1;

  private record Naming(String folder, String from, String to, SimulatedContent content) {}

  private final Random random;
  private long totalBytes;

  // All guarded by this.
  private final TreeMap<String, SimulatedContent> files = new TreeMap<>();
  private final TreeSet<String> folders = new TreeSet<>();

  /** Names as a power cut would leave them, before the undecided {@link #namings}. */
  private final TreeMap<String, SimulatedContent> durableNames = new TreeMap<>();

  private final List<Naming> namings = new ArrayList<>();
  private final Map<String, Integer> failingForces = new LinkedHashMap<>();
  private int writesToLose;
  private String writesToLosePart = "";

  /** Of all files together; {@link #UNKNOWN}: to be counted. */
  private long usedBytes = UNKNOWN;

  private long generation;
  private long operations;
  private long dieAt = Long.MAX_VALUE;
  private boolean dead;
  private volatile Hook hook = (operation, name) -> {};

  /** The seed decides what a power cut keeps and where a write is torn. */
  public SimulatedDisk(long seed, long totalBytes) {
    // Neighbouring small seeds begin alike in java.util.Random; spread them.
    this.random = new Random(seed * 0x9E3779B97F4A7C15L);
    this.totalBytes = totalBytes;
  }

  // ---------------------------------------------------------------- faults

  /** The process dies: its files are closed, all that it wrote stays. */
  public synchronized void killProcess() {
    reopen();
  }

  /** The power fails, and comes back: see the class. */
  public synchronized void cutPower() {
    double keepChance = new double[] {0, 0.5, 0.9, 1}[random.nextInt(4)];
    int grain = random.nextBoolean() ? SimulatedContent.SECTOR : 4096;
    TreeMap<String, SimulatedContent> names = new TreeMap<>(durableNames);
    for (Naming naming : namings) {
      if (random.nextDouble() < keepChance) {
        apply(names, naming);
      }
    }
    files.clear();
    files.putAll(names);
    for (SimulatedContent content : files.values()) {
      content.cutPower(random, grain, keepChance);
    }
    settleNames();
    reopen();
  }

  private void reopen() {
    usedBytes = UNKNOWN;
    generation++;
    dead = false;
    dieAt = Long.MAX_VALUE;
    operations = 0;
  }

  /**
   * The process dies at an operation: {@code count} operations from now succeed, then each one
   * fails (a write after a part of it) until {@link #killProcess} or {@link #cutPower}.
   */
  public synchronized void dieAfter(long count) {
    dieAt = operations + count;
  }

  /** True once {@link #dieAfter} has struck. */
  public synchronized boolean isDead() {
    return dead;
  }

  /** Operations that change something, since the last crash. */
  public synchronized long operations() {
    return operations;
  }

  /** The disk becomes smaller or larger; above it writes fail. */
  public synchronized void setTotalBytes(long bytes) {
    totalBytes = bytes;
  }

  /** The next {@code count} forces of files whose name contains the part fail. */
  public synchronized void failForces(String namePart, int count) {
    failingForces.put(namePart, count);
  }

  /** The next {@code count} writes to files whose name contains the part are answered but lost. */
  public synchronized void loseWrites(String namePart, int count) {
    writesToLosePart = namePart;
    writesToLose = count;
  }

  /** Rots one bit of a file, on the platter and in the cache. */
  public synchronized void flipBit(String name, long position, int bit) throws IOException {
    SimulatedContent content = content(name);
    if (position < 0 || position >= content.length()) {
      throw new IllegalArgumentException("not in " + name + ": " + position);
    }
    content.flipBit(position, bit);
  }

  /** Called around each operation from now on. */
  public void setHook(Hook newHook) {
    hook = newHook;
  }

  /** A copy of everything, as if it were all durable. */
  public synchronized Image image() {
    Image image = new Image();
    files.forEach((name, content) -> image.files.put(name, content.copy()));
    image.files.values().forEach(SimulatedContent::settle);
    image.folders.addAll(folders);
    return image;
  }

  /**
   * Another disk that has what this one has, durable or not, and no faults to come: what happens to
   * one of them is not seen by the other.
   */
  public synchronized SimulatedDisk fork(long seed) {
    SimulatedDisk other = new SimulatedDisk(seed, Long.MAX_VALUE / 4);
    IdentityHashMap<SimulatedContent, SimulatedContent> copies = new IdentityHashMap<>();
    files.forEach(
        (name, content) ->
            other.files.put(name, copies.computeIfAbsent(content, SimulatedContent::copy)));
    durableNames.forEach(
        (name, content) ->
            other.durableNames.put(name, copies.computeIfAbsent(content, SimulatedContent::copy)));
    for (Naming naming : namings) {
      other.namings.add(
          new Naming(
              naming.folder(),
              naming.from(),
              naming.to(),
              copies.computeIfAbsent(naming.content(), SimulatedContent::copy)));
    }
    other.folders.addAll(folders);
    return other;
  }

  /** Puts an old image back, as a restored virtual disk would; open files break. */
  public synchronized void restore(Image image) {
    files.clear();
    image.files.forEach((name, content) -> files.put(name, content.copy()));
    folders.clear();
    folders.addAll(image.folders);
    settleNames();
    reopen();
  }

  /** Another, empty disk in its place; open files break. */
  public synchronized void wipe() {
    restore(new Image());
  }

  /** All names of files, sorted. */
  public synchronized List<String> names() {
    return List.copyOf(files.keySet());
  }

  /** A file's bytes, as the kernel has them. */
  public synchronized byte[] bytes(String name) throws IOException {
    SimulatedContent content = content(name);
    byte[] bytes = new byte[(int) content.length()];
    content.read(0, ByteBuffer.wrap(bytes), bytes.length);
    return bytes;
  }

  // ---------------------------------------------------------------- the contract

  @Override
  public DiskFile open(String name, boolean create) throws IOException {
    hook.before(Operation.OPEN, name);
    DiskFile file = opened(name, create);
    hook.after(Operation.OPEN, name);
    return file;
  }

  private DiskFile opened(String name, boolean create) throws IOException {
    synchronized (this) {
      SimulatedContent content = files.get(name);
      if (content == null) {
        if (!create) {
          throw new IOException("open " + name + ": no such file");
        }
        change("open", name);
        requireFolder(name);
        content = new SimulatedContent();
        files.put(name, content);
        namings.add(new Naming(folder(name), "", name, content));
      } else {
        check("open", name);
      }
      return new File(name, content, generation);
    }
  }

  @Override
  public synchronized boolean exists(String name) {
    return files.containsKey(name) || folders.contains(name);
  }

  @Override
  public void delete(String name) throws IOException {
    hook.before(Operation.DELETE, name);
    synchronized (this) {
      change("delete", name);
      SimulatedContent content = files.remove(name);
      usedBytes = UNKNOWN;
      if (content != null) {
        namings.add(new Naming(folder(name), name, "", content));
      }
    }
    hook.after(Operation.DELETE, name);
  }

  @Override
  public void rename(String from, String to) throws IOException {
    hook.before(Operation.RENAME, from);
    synchronized (this) {
      change("rename", from);
      requireFolder(to);
      SimulatedContent content = content(from);
      files.remove(from);
      files.put(to, content);
      usedBytes = UNKNOWN;
      namings.add(new Naming(folder(to), from, to, content));
    }
    hook.after(Operation.RENAME, to);
  }

  @Override
  public void createFolder(String name) throws IOException {
    hook.before(Operation.CREATE_FOLDER, name);
    synchronized (this) {
      change("create folder", name);
      for (String folder = name; !folder.isEmpty(); folder = folder(folder)) {
        folders.add(folder);
      }
    }
    hook.after(Operation.CREATE_FOLDER, name);
  }

  @Override
  public List<String> list(String folder) throws IOException {
    hook.before(Operation.LIST, folder);
    synchronized (this) {
      check("list", folder);
      String prefix = folder.isEmpty() ? "" : folder + "/";
      TreeSet<String> names = new TreeSet<>();
      addBelow(prefix, files.navigableKeySet(), names);
      addBelow(prefix, folders, names);
      return List.copyOf(names);
    }
  }

  private static void addBelow(String prefix, NavigableSet<String> all, Set<String> names) {
    for (String name : all.tailSet(prefix, true)) {
      if (!name.startsWith(prefix)) {
        return;
      }
      if (name.indexOf('/', prefix.length()) < 0) {
        names.add(name.substring(prefix.length()));
      }
    }
  }

  @Override
  public void forceFolder(String folder) throws IOException {
    hook.before(Operation.FORCE_FOLDER, folder);
    synchronized (this) {
      change("force folder", folder);
      failWhereAsked("force folder", folder);
      for (Naming naming : namings) {
        if (naming.folder().equals(folder)) {
          apply(durableNames, naming);
        }
      }
      namings.removeIf(naming -> naming.folder().equals(folder));
    }
    hook.after(Operation.FORCE_FOLDER, folder);
  }

  @Override
  public void forceAll() throws IOException {
    hook.before(Operation.FORCE_ALL, "");
    synchronized (this) {
      change("force all", "");
      for (Map.Entry<String, SimulatedContent> file : files.entrySet()) {
        try {
          failWhereAsked("force all", file.getKey());
        } catch (IOException e) {
          file.getValue().failForce(random);
          throw e;
        }
      }
      files.values().forEach(SimulatedContent::force);
      settleNames();
    }
    hook.after(Operation.FORCE_ALL, "");
  }

  @Override
  public synchronized long freeBytes() {
    return Math.max(0, totalBytes - usedBytes());
  }

  @Override
  public synchronized long totalBytes() {
    return totalBytes;
  }

  // ---------------------------------------------------------------- inside, under the lock

  private long usedBytes() {
    if (usedBytes == UNKNOWN) {
      usedBytes = files.values().stream().mapToLong(SimulatedContent::length).sum();
    }
    return usedBytes;
  }

  /** What was open under a name may have another one by now, or none. */
  private void resized(String name, SimulatedContent content, long before) {
    if (usedBytes != UNKNOWN) {
      usedBytes = files.get(name) == content ? usedBytes + content.length() - before : UNKNOWN;
    }
  }

  /** A name's change, applied to whichever names survived before it. */
  private static void apply(Map<String, SimulatedContent> names, Naming naming) {
    if (!naming.from().isEmpty() && names.get(naming.from()) == naming.content()) {
      names.remove(naming.from());
    }
    if (!naming.to().isEmpty()) {
      names.put(naming.to(), naming.content());
    }
  }

  private void settleNames() {
    namings.clear();
    durableNames.clear();
    durableNames.putAll(files);
  }

  private static String folder(String name) {
    int slash = name.lastIndexOf('/');
    return slash < 0 ? "" : name.substring(0, slash);
  }

  private void requireFolder(String name) throws IOException {
    String folder = folder(name);
    if (!folder.isEmpty() && !folders.contains(folder)) {
      throw new IOException(name + ": no such folder");
    }
  }

  private SimulatedContent content(String name) throws IOException {
    SimulatedContent content = files.get(name);
    if (content == null) {
      throw new IOException(name + ": no such file");
    }
    return content;
  }

  private void check(String operation, String name) throws IOException {
    if (dead) {
      throw new IOException(operation + " " + name + ": the process is dead");
    }
  }

  /** True where the operation is the one that the process dies in. */
  private boolean diesNow() {
    if (operations++ >= dieAt) {
      dead = true;
    }
    return dead;
  }

  private void change(String operation, String name) throws IOException {
    if (diesNow()) {
      throw new IOException(operation + " " + name + ": the process is dead");
    }
  }

  private void failWhereAsked(String operation, String name) throws IOException {
    for (Map.Entry<String, Integer> failing : failingForces.entrySet()) {
      if (failing.getValue() > 0 && name.contains(failing.getKey())) {
        failing.setValue(failing.getValue() - 1);
        throw new IOException(operation + " " + name + ": Input/output error");
      }
    }
  }

  private final class File implements DiskFile {
    private final String name;
    private final SimulatedContent content;
    private final long openedIn;
    private boolean closed;

    File(String name, SimulatedContent content, long openedIn) {
      this.name = name;
      this.content = content;
      this.openedIn = openedIn;
    }

    private void checkOpen(String operation) throws IOException {
      check(operation, name);
      if (closed || openedIn != generation) {
        throw new IOException(operation + " " + name + ": closed");
      }
    }

    @Override
    public int read(ByteBuffer target, long position) throws IOException {
      hook.before(Operation.READ, name);
      int count;
      synchronized (SimulatedDisk.this) {
        checkOpen("read");
        count = (int) Math.min(target.remaining(), content.length() - position);
        if (count <= 0) {
          return target.hasRemaining() ? -1 : 0;
        }
        content.read(position, target, count);
      }
      hook.after(Operation.READ, name);
      return count;
    }

    @Override
    public void write(ByteBuffer source, long position) throws IOException {
      hook.before(Operation.WRITE, name);
      synchronized (SimulatedDisk.this) {
        checkOpen("write");
        int end = source.limit();
        boolean dies = diesNow();
        int count = dies ? random.nextInt(source.remaining() + 1) : source.remaining();
        if (writesToLose > 0 && name.contains(writesToLosePart)) {
          writesToLose--;
          source.position(end);
          return;
        }
        long before = content.length();
        long growth = Math.max(0, position + count - before);
        long free = totalBytes - usedBytes();
        if (growth > free) {
          int fits = (int) Math.max(0, count - (growth - Math.max(0, free)));
          content.write(position, source, fits);
          resized(name, content, before);
          source.position(end);
          throw new DiskFullException("write " + name + ": No space left on device");
        }
        content.write(position, source, count);
        resized(name, content, before);
        source.position(end);
        if (dies) {
          throw new IOException("write " + name + ": the process is dead");
        }
      }
      hook.after(Operation.WRITE, name);
    }

    @Override
    public long size() throws IOException {
      synchronized (SimulatedDisk.this) {
        checkOpen("size");
        return content.length();
      }
    }

    @Override
    public void truncate(long length) throws IOException {
      hook.before(Operation.TRUNCATE, name);
      synchronized (SimulatedDisk.this) {
        checkOpen("truncate");
        change("truncate", name);
        long before = content.length();
        content.truncate(length);
        resized(name, content, before);
      }
      hook.after(Operation.TRUNCATE, name);
    }

    @Override
    public void force() throws IOException {
      hook.before(Operation.FORCE, name);
      synchronized (SimulatedDisk.this) {
        checkOpen("force");
        change("force", name);
        try {
          failWhereAsked("force", name);
        } catch (IOException e) {
          content.failForce(random);
          throw e;
        }
        content.force();
      }
      hook.after(Operation.FORCE, name);
    }

    @Override
    public void close() {
      synchronized (SimulatedDisk.this) {
        closed = true;
      }
    }

    @Override
    public String toString() {
      return name;
    }
  }
}
