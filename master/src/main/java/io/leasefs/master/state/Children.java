package io.leasefs.master.state;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The children of one folder, sorted by name: blocks of references, so that a folder of a million
 * costs little more than four bytes a child and an insertion moves at most one block.
 */
final class Children {
  private static final int MAX_BLOCK = 256;

  private static final class Block {
    Inode[] items = new Inode[2];
    int size;

    void insert(int at, Inode item) {
      if (size == items.length) {
        items = Arrays.copyOf(items, Math.min(MAX_BLOCK, size + (size >> 1) + 1));
      }
      System.arraycopy(items, at, items, at + 1, size - at);
      items[at] = item;
      size++;
    }
  }

  private final ArrayList<Block> blocks = new ArrayList<>(0);
  private int size;

  int size() {
    return size;
  }

  @Nullable Inode get(byte[] name) {
    if (size == 0) {
      return null;
    }
    Block block = blocks.get(blockFor(name));
    int at = find(block, name);
    return at >= 0 ? block.items[at] : null;
  }

  /** Adds; there is none of this name. */
  void add(Inode child) {
    if (blocks.isEmpty()) {
      blocks.add(new Block());
    }
    int which = blockFor(child.name);
    Block block = blocks.get(which);
    int at = find(block, child.name);
    if (at >= 0) {
      throw new IllegalStateException("two children named " + child.nameText());
    }
    at = -at - 1;
    if (block.size == MAX_BLOCK) {
      Block next = new Block();
      blocks.add(which + 1, next);
      if (at == MAX_BLOCK) {
        block = next;
        at = 0;
      } else {
        int half = MAX_BLOCK / 2;
        next.items = Arrays.copyOfRange(block.items, half, MAX_BLOCK);
        next.size = MAX_BLOCK - half;
        Arrays.fill(block.items, half, MAX_BLOCK, null);
        block.size = half;
        if (at > half) {
          block = next;
          at -= half;
        }
      }
    }
    block.insert(at, child);
    size++;
  }

  /** Removes; it is there. */
  void remove(Inode child) {
    int which = size == 0 ? 0 : blockFor(child.name);
    int at = size == 0 ? -1 : find(blocks.get(which), child.name);
    if (at < 0 || blocks.get(which).items[at] != child) {
      throw new IllegalStateException("no such child: " + child.nameText());
    }
    Block block = blocks.get(which);
    System.arraycopy(block.items, at + 1, block.items, at, block.size - at - 1);
    block.size--;
    Arrays.fill(block.items, block.size, block.size + 1, null);
    if (block.size == 0) {
      blocks.remove(which);
    }
    size--;
  }

  /** At most {@code limit} whose name is above {@code after}. */
  List<Inode> above(byte[] after, int limit) {
    List<Inode> found = new ArrayList<>(Math.min(limit, 1000));
    if (size == 0) {
      return found;
    }
    int which = blockFor(after);
    int at = find(blocks.get(which), after);
    at = at >= 0 ? at + 1 : -at - 1;
    while (found.size() < limit && which < blocks.size()) {
      Block block = blocks.get(which);
      while (at < block.size && found.size() < limit) {
        found.add(block.items[at]);
        at++;
      }
      which++;
      at = 0;
    }
    return found;
  }

  void forEach(Consumer<Inode> action) {
    for (Block block : blocks) {
      for (int i = 0; i < block.size; i++) {
        action.accept(block.items[i]);
      }
    }
  }

  /** The last block whose first name is not above this one; the first block if there is none. */
  private int blockFor(byte[] name) {
    int low = 0;
    int high = blocks.size() - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (Arrays.compareUnsigned(blocks.get(middle).items[0].name, name) <= 0) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  private static int find(Block block, byte[] name) {
    int low = 0;
    int high = block.size - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      int order = Arrays.compareUnsigned(block.items[middle].name, name);
      if (order == 0) {
        return middle;
      } else if (order < 0) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return -low - 1;
  }
}
