package io.leasefs.master.state;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.Ordinal;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.state.FileEntry.Opening;
import io.leasefs.master.state.FileEntry.Place;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The tree of files and folders, the trash and the doomed; knows chunks by handle only. Every
 * method that throws {@link LeaseFsException} has changed nothing.
 */
final class Namespace {
  static final FileId ROOT = new FileId(0);
  private static final byte[] HIDDEN = FilePath.HIDDEN_PREFIX.getBytes(StandardCharsets.UTF_8);
  private static final int FOLDER_MODE = 0755;
  private static final long NO_PARENT = -1;

  /** A deleted file or folder that may come back. */
  record TrashEntry(Inode inode, FilePath path, long deletedMillis) {}

  private final Inode.Folder root = new Inode.Folder(ROOT.value(), new byte[0], FOLDER_MODE, 0);
  private final InodeIndex byId = new InodeIndex();
  private final NavigableMap<Long, TrashEntry> trash = new TreeMap<>();
  private final SortedMap<FilePath, NavigableSet<Long>> trashByPath = new TreeMap<>();
  private final SortedMap<Long, Long> trashById = new TreeMap<>();
  private final NavigableMap<Long, Inode> doomed = new TreeMap<>();
  private final SortedMap<Long, List<Opening>> openings = new TreeMap<>();
  private final SortedMap<SessionId, NavigableSet<FileId>> openFiles = new TreeMap<>();
  private final SortedMap<Long, Long> fenceFloors = new TreeMap<>();
  private final SortedMap<Long, SessionId> hidden = new TreeMap<>();
  private long lastIndex;
  private long visibleFiles;
  private long visibleFolders;

  Namespace() {
    byId.add(root);
  }

  // ---------------------------------------------------------------- looking up

  @Nullable Inode find(FileId file) {
    return byId.get(file.value());
  }

  Inode require(FilePath path) {
    Inode inode = root;
    for (String name : path.names()) {
      if (!(inode instanceof Inode.Folder folder)) {
        throw notAFolder(pathOf(inode));
      }
      inode = folder.children.get(bytes(name));
      if (inode == null) {
        throw new LeaseFsException(ErrorCode.NOT_FOUND, path + ": no such file or folder");
      }
    }
    return inode;
  }

  /** What lies at this path, or null; throws where a part of it is a file. */
  @Nullable Inode findOrNull(FilePath path) {
    Inode inode = root;
    for (String name : path.names()) {
      if (!(inode instanceof Inode.Folder folder)) {
        throw notAFolder(pathOf(inode));
      }
      inode = folder.children.get(bytes(name));
      if (inode == null) {
        return null;
      }
    }
    return inode;
  }

  Inode.File requireFile(FilePath path) {
    return switch (require(path)) {
      case Inode.File file -> file;
      case Inode.Folder folder ->
          throw new LeaseFsException(ErrorCode.IS_A_DIRECTORY, path + ": is a folder");
    };
  }

  Inode.File requireFile(FileId id) {
    if (find(id) instanceof Inode.File file) {
      return file;
    }
    throw new LeaseFsException(ErrorCode.NOT_FOUND, "file " + id + ": no such file");
  }

  Place placeOf(Inode inode) {
    Inode top = inode;
    for (Inode.Folder parent = top.parent; parent != null; parent = parent.parent) {
      top = parent;
    }
    if (top == root) {
      return Place.VISIBLE;
    }
    return doomed.containsKey(top.id) ? Place.DOOMED : Place.TRASH;
  }

  /** The visible path, or where it lay before it was deleted. */
  FilePath pathOf(Inode inode) {
    Deque<String> names = new ArrayDeque<>();
    Inode top = inode;
    for (Inode.Folder parent = top.parent; parent != null; parent = parent.parent) {
      names.addFirst(top.nameText());
      top = parent;
    }
    Long deletion = trashById.get(top.id);
    FilePath path = FilePath.ROOT;
    if (deletion != null) {
      path = Objects.requireNonNull(trash.get(deletion)).path();
    } else if (top != root) {
      path = FilePath.ROOT.child(top.nameText());
    }
    for (String name : names) {
      path = path.child(name);
    }
    return path;
  }

  List<Opening> openings(FileId file) {
    return openings.getOrDefault(file.value(), List.of());
  }

  NavigableSet<FileId> openFiles(SessionId session) {
    return openFiles.getOrDefault(session, Collections.emptyNavigableSet());
  }

  long fenceFloor(FileId file) {
    return fenceFloors.getOrDefault(file.value(), 0L);
  }

  long visibleFiles() {
    return visibleFiles;
  }

  long visibleFolders() {
    return visibleFolders;
  }

  NavigableMap<Long, TrashEntry> trash() {
    return trash;
  }

  /** Children that a listing shows. */
  int visibleChildren(Inode.Folder folder) {
    int count = folder.children.size();
    for (long id : hidden.keySet()) {
      Inode inode = byId.get(id);
      if (inode != null && inode.parent == folder) {
        count--;
      }
    }
    return count;
  }

  /** Children by name above {@code after}, without unfinished puts. */
  List<Inode> list(Inode.Folder folder, String after, int limit) {
    List<Inode> found = new ArrayList<>();
    byte[] from = bytes(after);
    while (found.size() < limit) {
      List<Inode> page = folder.children.above(from, limit - found.size());
      if (page.isEmpty()) {
        break;
      }
      for (Inode inode : page) {
        if (!startsHidden(inode.name)) {
          found.add(inode);
        }
      }
      from = page.getLast().name;
    }
    return found;
  }

  // ---------------------------------------------------------------- creating

  /** Where a new entry goes, once {@link #make} has made the folders that are missing. */
  record Slot(Inode.Folder existing, List<String> missing, String name) {}

  /** Checks that something new may come to this path. */
  Slot slotFor(FilePath path, boolean parents) {
    if (path.isRoot()) {
      throw new LeaseFsException(ErrorCode.ALREADY_EXISTS, "/: exists already");
    }
    List<String> names = path.names();
    Inode.Folder folder = root;
    int at = 0;
    while (at < names.size() - 1) {
      Inode next = folder.children.get(bytes(names.get(at)));
      if (next == null) {
        break;
      }
      if (!(next instanceof Inode.Folder nextFolder)) {
        throw notAFolder(pathOf(next));
      }
      folder = nextFolder;
      at++;
    }
    List<String> missing = names.subList(at, names.size() - 1);
    if (!missing.isEmpty() && !parents) {
      throw new LeaseFsException(ErrorCode.NOT_FOUND, path + ": parent directory does not exist");
    }
    if (missing.isEmpty()) {
      Inode there = folder.children.get(bytes(path.name()));
      if (there != null) {
        throw new LeaseFsException(ErrorCode.ALREADY_EXISTS, path + ": exists already");
      }
    }
    return new Slot(folder, List.copyOf(missing), path.name());
  }

  private Inode.Folder make(Slot slot, long ordinal, long wallMillis) {
    Inode.Folder folder = slot.existing();
    slot.missing().forEach(Namespace::checkNotReserved);
    for (String name : slot.missing()) {
      Inode.Folder next = new Inode.Folder(nextId(ordinal), bytes(name), FOLDER_MODE, wallMillis);
      byId.add(next);
      attach(folder, next, wallMillis);
      folder = next;
    }
    return folder;
  }

  Inode.Folder createFolder(Slot slot, int mode, long ordinal, long wallMillis) {
    checkNotReserved(slot.name());
    Inode.Folder parent = make(slot, ordinal, wallMillis);
    Inode.Folder folder = new Inode.Folder(nextId(ordinal), bytes(slot.name()), mode, wallMillis);
    byId.add(folder);
    attach(parent, folder, wallMillis);
    return folder;
  }

  Inode.File createFile(
      Slot slot,
      int mode,
      int replication,
      Durability durability,
      long chunkBytes,
      SessionId session,
      long ordinal,
      long wallMillis) {
    Inode.Folder parent = make(slot, ordinal, wallMillis);
    Inode.File file =
        new Inode.File(
            nextId(ordinal),
            bytes(slot.name()),
            mode,
            wallMillis,
            replication,
            durability,
            chunkBytes);
    byId.add(file);
    attach(parent, file, wallMillis);
    if (startsHidden(file.name)) {
      hidden.put(file.id, session);
    }
    return file;
  }

  // ---------------------------------------------------------------- moving

  /** Checks and moves; a file at the target goes into the trash if {@code replace}. */
  Inode rename(FilePath from, FilePath to, boolean replace, long ordinal, long wallMillis) {
    Inode moved = require(from);
    if (moved == root) {
      throw new LeaseFsException(ErrorCode.INVALID_ARGUMENT, "/: the root cannot be moved");
    }
    checkNotReserved(to.name());
    Inode there = findOrNull(to);
    if (there == moved) {
      return moved;
    }
    if (to.isWithin(from)) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, from + ": cannot be moved into itself (" + to + ")");
    }
    if (there instanceof Inode.Folder) {
      throw new LeaseFsException(ErrorCode.IS_A_DIRECTORY, to + ": is a folder");
    }
    if (there != null && (!replace || moved instanceof Inode.Folder)) {
      throw new LeaseFsException(ErrorCode.ALREADY_EXISTS, to + ": exists already");
    }
    Inode.Folder target = there == null ? slotFor(to, false).existing() : checkParent(there);
    checkLengths(moved, from, to);
    if (there != null) {
      moveToTrash(there, to, ordinal, wallMillis);
    }
    unlink(moved, wallMillis);
    moved.name = bytes(to.name());
    link(target, moved);
    target.modifiedMillis = wallMillis;
    if (!startsHidden(moved.name)) {
      hidden.remove(moved.id);
    }
    return moved;
  }

  /** Refuses a move after which some path below would be longer than a path may be. */
  private static void checkLengths(Inode moved, FilePath from, FilePath to) {
    int base = to.text().getBytes(StandardCharsets.UTF_8).length;
    if (base <= from.text().getBytes(StandardCharsets.UTF_8).length
        || !(moved instanceof Inode.Folder folder)) {
      return;
    }
    record Below(Inode.Folder folder, int length) {}
    Deque<Below> todo = new ArrayDeque<>();
    todo.add(new Below(folder, base));
    while (!todo.isEmpty()) {
      Below below = todo.removeLast();
      below.folder.children.forEach(
          child -> {
            int length = below.length + 1 + child.name.length;
            if (length > FilePath.MAX_PATH_BYTES) {
              throw new LeaseFsException(
                  ErrorCode.INVALID_PATH, to + ": a path below it would exceed 4096 bytes");
            }
            if (child instanceof Inode.Folder next) {
              todo.addLast(new Below(next, length));
            }
          });
    }
  }

  // ---------------------------------------------------------------- deleting

  void delete(FilePath path, boolean recursive, boolean skipTrash, long ordinal, long wallMillis) {
    Inode inode = require(path);
    if (inode == root) {
      throw new LeaseFsException(ErrorCode.INVALID_ARGUMENT, "/: the root cannot be deleted");
    }
    if (inode instanceof Inode.Folder folder && folder.children.size() > 0 && !recursive) {
      throw new LeaseFsException(ErrorCode.NOT_EMPTY, path + ": folder is not empty");
    }
    if (skipTrash) {
      doom(inode, wallMillis);
    } else {
      moveToTrash(inode, path, ordinal, wallMillis);
    }
  }

  private void moveToTrash(Inode inode, FilePath path, long ordinal, long wallMillis) {
    detach(inode, wallMillis);
    putTrash(ordinal, new TrashEntry(inode, path, wallMillis));
  }

  private void putTrash(long ordinal, TrashEntry entry) {
    trash.put(ordinal, entry);
    trashByPath.computeIfAbsent(entry.path(), p -> new TreeSet<>()).add(ordinal);
    trashById.put(entry.inode().id, ordinal);
  }

  private void doom(Inode inode, long wallMillis) {
    detach(inode, wallMillis);
    doomed.put(inode.id, inode);
  }

  Inode restore(FilePath path, long wallMillis) {
    NavigableSet<Long> deletions = trashByPath.get(path);
    if (deletions == null) {
      throw new LeaseFsException(ErrorCode.NOT_FOUND, path + ": not in the trash");
    }
    Slot slot = slotFor(path, false);
    TrashEntry entry = takeFromTrash(deletions.last());
    attach(slot.existing(), entry.inode(), wallMillis);
    return entry.inode();
  }

  /** Dooms what was deleted before this wall time; answers how many entries. */
  long emptyTrash(long deletedBeforeMillis) {
    List<Long> old = new ArrayList<>();
    trash.forEach(
        (ordinal, entry) -> {
          if (entry.deletedMillis() < deletedBeforeMillis) {
            old.add(ordinal);
          }
        });
    for (long ordinal : old) {
      Inode inode = takeFromTrash(ordinal).inode();
      doomed.put(inode.id, inode);
    }
    return old.size();
  }

  private TrashEntry takeFromTrash(long ordinal) {
    TrashEntry entry = Objects.requireNonNull(trash.remove(ordinal));
    NavigableSet<Long> sameName = Objects.requireNonNull(trashByPath.get(entry.path()));
    sameName.remove(ordinal);
    if (sameName.isEmpty()) {
      trashByPath.remove(entry.path());
    }
    trashById.remove(entry.inode().id);
    return entry;
  }

  /** Takes a doomed inode out for good: a file, or a folder that is empty. */
  void purge(Inode inode) {
    Inode.Folder parent = inode.parent;
    if (parent != null) {
      parent.children.remove(inode);
    } else {
      doomed.remove(inode.id);
    }
    byId.remove(inode.id);
    for (Opening opening : openings(new FileId(inode.id))) {
      forgetOpening(opening.session(), new FileId(inode.id));
    }
    openings.remove(inode.id);
    fenceFloors.remove(inode.id);
    hidden.remove(inode.id);
  }

  /** Doomed ones, deepest first, that the filter lets pass, and folders that are empty. */
  List<FileId> purgeable(int limit, Predicate<Inode.File> free) {
    List<FileId> found = new ArrayList<>();
    for (Inode top : doomed.values()) {
      Deque<Inode> todo = new ArrayDeque<>();
      todo.add(top);
      while (!todo.isEmpty()) {
        if (found.size() >= limit) {
          return found;
        }
        Inode inode = todo.removeLast();
        boolean take =
            switch (inode) {
              case Inode.File file -> free.test(file);
              case Inode.Folder folder -> {
                folder.children.forEach(todo::addLast);
                yield folder.children.size() == 0;
              }
            };
        if (take) {
          found.add(new FileId(inode.id));
        }
      }
    }
    return found;
  }

  // ---------------------------------------------------------------- openings

  void open(Inode.File file, Opening opening) {
    FileId id = new FileId(file.id);
    List<Opening> more = new ArrayList<>(openings(id));
    more.add(opening);
    openings.put(file.id, List.copyOf(more));
    openFiles.computeIfAbsent(opening.session(), s -> new TreeSet<>()).add(id);
    if (opening.token() > fenceFloor(id)) {
      fenceFloors.put(file.id, opening.token());
    }
  }

  /** Ends one opening; false where it is not there. */
  boolean close(FileId file, SessionId session, long openNumber) {
    List<Opening> left = new ArrayList<>(openings(file));
    if (!left.removeIf(o -> o.session().equals(session) && o.openNumber() == openNumber)) {
      return false;
    }
    putOpenings(file, left);
    if (left.stream().noneMatch(o -> o.session().equals(session))) {
      forgetOpening(session, file);
    }
    return true;
  }

  /** Ends all openings of a session and dooms its unfinished puts. */
  void endSession(SessionId session, long wallMillis) {
    NavigableSet<FileId> files = openFiles.remove(session);
    if (files != null) {
      for (FileId file : files) {
        List<Opening> left = new ArrayList<>(openings(file));
        left.removeIf(o -> o.session().equals(session));
        putOpenings(file, left);
      }
    }
    List<Inode> unfinished = new ArrayList<>();
    hidden.forEach(
        (id, owner) -> {
          Inode inode = byId.get(id);
          if (owner.equals(session) && inode != null) {
            unfinished.add(inode);
          }
        });
    for (Inode inode : unfinished) {
      hidden.remove(inode.id);
      switch (placeOf(inode)) {
        case VISIBLE -> doom(inode, wallMillis);
        case TRASH -> {
          if (inode.parent != null) {
            unlink(inode, wallMillis);
            doomed.put(inode.id, inode);
          }
        }
        case DOOMED -> {}
      }
    }
  }

  private void putOpenings(FileId file, List<Opening> left) {
    if (left.isEmpty()) {
      openings.remove(file.value());
    } else {
      openings.put(file.value(), List.copyOf(left));
    }
  }

  private void forgetOpening(SessionId session, FileId file) {
    NavigableSet<FileId> files = openFiles.get(session);
    if (files != null) {
      files.remove(file);
      if (files.isEmpty()) {
        openFiles.remove(session);
      }
    }
  }

  // ---------------------------------------------------------------- the tree itself

  private void attach(Inode.Folder parent, Inode child, long wallMillis) {
    link(parent, child);
    parent.modifiedMillis = wallMillis;
    count(child, 1);
  }

  private void detach(Inode child, long wallMillis) {
    unlink(child, wallMillis);
    count(child, -1);
  }

  private static void link(Inode.Folder parent, Inode child) {
    parent.children.add(child);
    child.parent = parent;
  }

  private static void unlink(Inode child, long wallMillis) {
    Inode.Folder parent = checkParent(child);
    parent.children.remove(child);
    parent.modifiedMillis = wallMillis;
    child.parent = null;
  }

  /** Counts a subtree that comes to, or leaves, the visible tree. */
  private void count(Inode top, int sign) {
    Deque<Inode> todo = new ArrayDeque<>();
    todo.add(top);
    while (!todo.isEmpty()) {
      switch (todo.removeLast()) {
        case Inode.File file -> visibleFiles += sign;
        case Inode.Folder folder -> {
          visibleFolders += sign;
          folder.children.forEach(todo::addLast);
        }
      }
    }
  }

  private static Inode.Folder checkParent(Inode child) {
    Inode.Folder parent = child.parent;
    if (parent == null) {
      throw new IllegalStateException("inode " + child.id + " is not in the tree");
    }
    return parent;
  }

  private long nextId(long ordinal) {
    lastIndex++;
    return Ordinal.of(Ordinal.generation(ordinal), lastIndex);
  }

  /** What has such a name goes with a session: only an unfinished put may. */
  private static void checkNotReserved(String name) {
    if (name.startsWith(FilePath.HIDDEN_PREFIX)) {
      throw new LeaseFsException(
          ErrorCode.INVALID_PATH,
          name + ": names that begin with " + FilePath.HIDDEN_PREFIX + " are reserved");
    }
  }

  private static boolean startsHidden(byte[] name) {
    return name.length >= HIDDEN.length
        && Arrays.equals(name, 0, HIDDEN.length, HIDDEN, 0, HIDDEN.length);
  }

  private static byte[] bytes(String name) {
    return name.getBytes(StandardCharsets.UTF_8);
  }

  private static LeaseFsException notAFolder(FilePath path) {
    return new LeaseFsException(ErrorCode.NOT_A_DIRECTORY, path + ": is a file, not a folder");
  }

  // ---------------------------------------------------------------- checkpoint

  /** Writes all of it; folders before their children. */
  void write(StateSink sink) {
    sink.number(lastIndex);
    sink.number(root.modifiedMillis);
    sink.number(root.mode);
    sink.number(byId.size() - 1);
    writeBelow(sink, root);
    trash.values().forEach(entry -> writeTree(sink, entry.inode()));
    doomed.values().forEach(inode -> writeTree(sink, inode));
    sink.number(trash.size());
    trash.forEach(
        (ordinal, entry) -> {
          sink.number(ordinal);
          sink.number(entry.inode().id);
          sink.text(entry.path().text());
          sink.number(entry.deletedMillis());
        });
    sink.number(doomed.size());
    doomed.keySet().forEach(sink::number);
    sink.number(openings.size());
    openings.forEach(
        (file, list) -> {
          sink.number(file);
          sink.number(list.size());
          for (Opening opening : list) {
            sink.number(opening.session().value());
            sink.number(opening.openNumber());
            sink.number(opening.token());
          }
        });
    sink.number(fenceFloors.size());
    fenceFloors.forEach(
        (file, floor) -> {
          sink.number(file);
          sink.number(floor);
        });
    sink.number(hidden.size());
    hidden.forEach(
        (file, session) -> {
          sink.number(file);
          sink.number(session.value());
        });
  }

  private static void writeTree(StateSink sink, Inode top) {
    writeInode(sink, top);
    if (top instanceof Inode.Folder folder) {
      writeBelow(sink, folder);
    }
  }

  private static void writeBelow(StateSink sink, Inode.Folder top) {
    Deque<Inode.Folder> todo = new ArrayDeque<>();
    todo.add(top);
    while (!todo.isEmpty()) {
      todo.removeLast()
          .children
          .forEach(
              child -> {
                writeInode(sink, child);
                if (child instanceof Inode.Folder folder) {
                  todo.addLast(folder);
                }
              });
    }
  }

  private static void writeInode(StateSink sink, Inode inode) {
    sink.number(inode.id);
    sink.number(inode.parent == null ? NO_PARENT : inode.parent.id);
    sink.bytes(inode.name);
    sink.number(inode.modeBits());
    sink.number(inode.createdMillis);
    sink.number(inode.modifiedMillis);
    switch (inode) {
      case Inode.Folder folder -> sink.flag(true);
      case Inode.File file -> {
        sink.flag(false);
        sink.number(file.replication);
        sink.flag(file.synced);
        sink.number(file.chunkBytes);
        sink.number(file.chunks.length);
        for (long chunk : file.chunks) {
          sink.number(chunk);
        }
      }
    }
  }

  /** Reads what {@link #write} wrote, into a new namespace. */
  static Namespace read(StateSource source) {
    Namespace namespace = new Namespace();
    namespace.readFrom(source);
    return namespace;
  }

  private void readFrom(StateSource source) {
    lastIndex = source.number();
    root.modifiedMillis = source.number();
    root.mode = (short) source.number();
    for (long left = source.number(); left > 0; left--) {
      readInode(source);
    }
    for (long left = source.number(); left > 0; left--) {
      long ordinal = source.number();
      Inode inode = known(source.number());
      putTrash(ordinal, new TrashEntry(inode, new FilePath(source.text()), source.number()));
    }
    for (long left = source.number(); left > 0; left--) {
      Inode inode = known(source.number());
      doomed.put(inode.id, inode);
    }
    for (long left = source.number(); left > 0; left--) {
      long file = source.number();
      List<Opening> list = new ArrayList<>();
      for (long count = source.number(); count > 0; count--) {
        Opening opening =
            new Opening(new SessionId(source.number()), source.number(), source.number());
        list.add(opening);
        openFiles.computeIfAbsent(opening.session(), s -> new TreeSet<>()).add(new FileId(file));
      }
      openings.put(file, List.copyOf(list));
    }
    for (long left = source.number(); left > 0; left--) {
      fenceFloors.put(source.number(), source.number());
    }
    for (long left = source.number(); left > 0; left--) {
      hidden.put(source.number(), new SessionId(source.number()));
    }
    count(root, 1);
    visibleFolders--;
  }

  private void readInode(StateSource source) {
    long id = source.number();
    long parent = source.number();
    byte[] name = source.bytes();
    int mode = (int) source.number();
    long created = source.number();
    long modified = source.number();
    Inode inode;
    if (source.flag()) {
      inode = new Inode.Folder(id, name, mode, created);
    } else {
      int replication = (int) source.number();
      Durability durability = source.flag() ? Durability.SYNCED : Durability.REPLICATED;
      Inode.File file =
          new Inode.File(id, name, mode, created, replication, durability, source.number());
      file.chunks = new long[(int) source.number()];
      for (int i = 0; i < file.chunks.length; i++) {
        file.chunks[i] = source.number();
      }
      inode = file;
    }
    inode.modifiedMillis = modified;
    byId.add(inode);
    if (parent != NO_PARENT) {
      if (!(known(parent) instanceof Inode.Folder folder)) {
        throw new IllegalStateException("inode " + id + " lies in " + parent + ", not a folder");
      }
      link(folder, inode);
    }
  }

  private Inode known(long id) {
    Inode inode = byId.get(id);
    if (inode == null) {
      throw new IllegalStateException("unknown inode " + id);
    }
    return inode;
  }

  // ---------------------------------------------------------------- checking

  /** Walks everything and throws where a side table disagrees with the tree. */
  void invariant(BiConsumer<Inode.File, Place> eachFile) {
    long[] counted = new long[3];
    check(root, Place.VISIBLE, counted, eachFile);
    require(counted[0] == visibleFiles, "visible files " + visibleFiles);
    require(counted[1] - 1 == visibleFolders, "visible folders " + visibleFolders);
    trash.forEach(
        (ordinal, entry) -> {
          check(entry.inode(), Place.TRASH, counted, eachFile);
          require(
              ordinal.equals(trashById.get(entry.inode().id))
                  && trashByPath.getOrDefault(entry.path(), new TreeSet<>()).contains(ordinal),
              "trash entry " + ordinal);
        });
    require(trashById.size() == trash.size(), "trash by id");
    doomed.values().forEach(inode -> check(inode, Place.DOOMED, counted, eachFile));
    require(counted[2] == byId.size(), "inodes " + byId.size() + ", found " + counted[2]);
    SortedMap<SessionId, NavigableSet<FileId>> expected = new TreeMap<>();
    openings.forEach(
        (file, list) -> {
          require(byId.get(file) instanceof Inode.File && !list.isEmpty(), "openings of " + file);
          for (Opening opening : list) {
            expected.computeIfAbsent(opening.session(), s -> new TreeSet<>()).add(new FileId(file));
          }
        });
    require(expected.equals(openFiles), "open files by session");
    for (long file : fenceFloors.keySet()) {
      require(byId.get(file) != null, "fence floor of " + file);
    }
    for (long file : hidden.keySet()) {
      Inode inode = byId.get(file);
      require(inode != null && startsHidden(inode.name), "unfinished put " + file);
    }
  }

  private void check(
      Inode top, Place place, long[] counted, BiConsumer<Inode.File, Place> eachFile) {
    require(byId.get(top.id) == top, "inode " + top.id + " by id");
    require(placeOf(top) == place, "inode " + top.id + " in " + place);
    counted[2]++;
    switch (top) {
      case Inode.File file -> {
        counted[0] += place == Place.VISIBLE ? 1 : 0;
        eachFile.accept(file, place);
      }
      case Inode.Folder folder -> {
        counted[1] += place == Place.VISIBLE ? 1 : 0;
        byte[][] last = new byte[1][];
        folder.children.forEach(
            child -> {
              require(child.parent == folder, "parent of " + child.id);
              require(
                  last[0] == null || Arrays.compareUnsigned(last[0], child.name) < 0,
                  "order of names in " + folder.id);
              last[0] = child.name;
              check(child, place, counted, eachFile);
            });
      }
    }
  }

  private static void require(boolean holds, String what) {
    if (!holds) {
      throw new IllegalStateException("namespace: " + what);
    }
  }
}
