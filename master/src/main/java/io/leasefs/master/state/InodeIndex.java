package io.leasefs.master.state;

import org.jspecify.annotations.Nullable;

/** Inodes by id: open addressing over the references alone, six to twelve bytes an inode. */
final class InodeIndex {
  private @Nullable Inode[] slots = new Inode[64];
  private int size;

  int size() {
    return size;
  }

  @Nullable Inode get(long id) {
    int at = home(id);
    while (true) {
      Inode inode = slots[at];
      if (inode == null || inode.id == id) {
        return inode;
      }
      at = (at + 1) & (slots.length - 1);
    }
  }

  /** Adds; there is none of this id. */
  void add(Inode inode) {
    if (size >= slots.length - (slots.length >> 2)) {
      @Nullable Inode[] old = slots;
      slots = new Inode[old.length * 2];
      for (Inode each : old) {
        if (each != null) {
          place(each);
        }
      }
    }
    place(inode);
    size++;
  }

  private void place(Inode inode) {
    int at = home(inode.id);
    for (Inode there = slots[at]; there != null; there = slots[at]) {
      if (there.id == inode.id) {
        throw new IllegalStateException("two inodes of id " + inode.id);
      }
      at = (at + 1) & (slots.length - 1);
    }
    slots[at] = inode;
  }

  /** Removes; it is there. Later ones of the same run move up, so that no gap hides them. */
  void remove(long id) {
    int at = home(id);
    while (true) {
      Inode inode = slots[at];
      if (inode == null) {
        throw new IllegalStateException("no inode of id " + id);
      }
      if (inode.id == id) {
        break;
      }
      at = (at + 1) & (slots.length - 1);
    }
    int gap = at;
    int next = at;
    while (true) {
      next = (next + 1) & (slots.length - 1);
      Inode inode = slots[next];
      if (inode == null) {
        break;
      }
      int home = home(inode.id);
      boolean reachable = gap <= next ? gap < home && home <= next : gap < home || home <= next;
      if (!reachable) {
        slots[gap] = inode;
        gap = next;
      }
    }
    slots[gap] = null;
    size--;
  }

  private int home(long id) {
    long mixed = id * 0x9E3779B97F4A7C15L;
    return (int) (mixed >>> 32) & (slots.length - 1);
  }
}
