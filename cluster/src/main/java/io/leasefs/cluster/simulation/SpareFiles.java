package io.leasefs.cluster.simulation;

import io.leasefs.client.data.AsyncAppender;
import io.leasefs.client.data.OpenFiles;
import io.leasefs.client.edge.Futures;
import io.leasefs.client.meta.MasterRouter;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.MasterApi.CreateFile;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.FilePath;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;

/**
 * What one client does with files that are there to be deleted. It makes some, writes to them, and
 * deletes each: while it still writes, when all is acknowledged, or once it has closed it; for
 * good, or into the trash and back; alone or with the folder that it lies in. And it writes to
 * those of others, who delete them meanwhile.
 *
 * <p>What was deleted for good is not there any more, and nothing of it counts as lost. Who still
 * writes to it is told so. What comes back from the trash has everything that was ever
 * acknowledged. All chance is drawn from a source of its own.
 */
final class SpareFiles {
  private static final long MILLI = 1_000_000;

  /** In one turn of so many a file is made; and in one of so many another's is written to. */
  private static final int MAKES_ONE_IN = 16;

  private static final int VISITS_ONE_IN = 8;

  /** A client writes to no more of them at once. */
  private static final int MOST_AT_ONCE = 3;

  /** Once nothing goes wrong any more, a deleted file is sealed and dropped in less. */
  private static final long SEALED_NANOS = 5_000 * MILLI;

  private static final int MOST_RECORDS = 8;
  private static final int MOST_BYTES = 5_000;

  /** A file that somebody will delete. */
  static final class Spare {
    private final FilePath path;

    /** What is deleted: the file, or the folder that it lies in. */
    private final FilePath top;

    /** Somebody has asked for its deletion: from then on it may not be there. */
    private boolean doomed;

    /** Somebody has ever: an answer that says that it is not there may be from that time. */
    private boolean everDoomed;

    /** It was told that the file is deleted for good. */
    private boolean deleted;

    private long deletedAt;

    Spare(FilePath path, FilePath top) {
      this.path = path;
      this.top = top;
    }

    @Override
    public String toString() {
      return path.text();
    }
  }

  /** One opening of one of them. */
  private static final class Writing {
    private final Spare spare;
    private final AsyncAppender appender;
    private final boolean mine;
    private int left;
    private int underWay;
    private boolean last;
    private boolean closed;

    Writing(Spare spare, AsyncAppender appender, boolean mine, int left) {
      this.spare = spare;
      this.appender = appender;
      this.mine = mine;
      this.left = left;
    }
  }

  private final EventLoop loop;
  private final Life life;
  private final Swarm swarm;
  private final RecordBook book;
  private final MasterRouter router;
  private final OpenFiles openFiles;
  private final SimulatedClient client;

  /** Files of all clients that others may write to, too. */
  private final List<Spare> shared;

  private final Random random;
  private final List<Writing> writings = new ArrayList<>();
  private final List<Spare> trashed = new ArrayList<>();
  private int made;
  private int busy;
  private boolean finishing;

  /**
   * @param client the process whose files these are
   * @param shared files of all clients that others may write to, too
   */
  SpareFiles(
      EventLoop loop,
      Life life,
      Swarm swarm,
      RecordBook book,
      MasterRouter router,
      OpenFiles openFiles,
      SimulatedClient client,
      List<Spare> shared,
      Random random) {
    this.loop = loop;
    this.life = life;
    this.swarm = swarm;
    this.book = book;
    this.router = router;
    this.openFiles = openFiles;
    this.client = client;
    this.shared = shared;
    this.random = random;
  }

  /** Once in a while something is begun. */
  void turn() {
    if (finishing || writings.size() + busy >= MOST_AT_ONCE) {
      return;
    }
    if (random.nextInt(MAKES_ONE_IN) == 0) {
      make();
    } else if (!shared.isEmpty() && random.nextInt(VISITS_ONE_IN) == 0) {
      visit(shared.get(random.nextInt(shared.size())));
    }
  }

  // ---- making and writing ------------------------------------------------------------------

  private void make() {
    String name = "spare-" + client.writer() + "-" + ++made;
    boolean inFolder = random.nextInt(3) == 0;
    FilePath top = FilePath.parse("/" + name);
    Spare spare = new Spare(inFolder ? FilePath.parse("/" + name + "/file") : top, top);
    CreateFile request =
        new CreateFile(
            spare.path, true, swarm.replication(), 1 << 20, swarm.durability(), 0644, true);
    busy++;
    Futures.onDone(
        openFiles.create(request),
        appender -> {
          busy--;
          book.opened(spare.path, 0);
          if (random.nextBoolean()) {
            shared.add(spare);
          }
          write(new Writing(spare, appender, true, random.nextInt(MOST_RECORDS)));
        },
        failure -> {
          busy--;
          loop.note(life.host() + " has not made " + spare + ": " + failure);
        });
  }

  private void visit(Spare spare) {
    if (writings.stream().anyMatch(writing -> writing.spare == spare)) {
      return;
    }
    busy++;
    Futures.onDone(
        openFiles.openForWrite(spare.path, 0),
        appender -> {
          busy--;
          write(new Writing(spare, appender, false, 1 + random.nextInt(3 * MOST_RECORDS)));
        },
        failure -> {
          busy--;
          loop.note(life.host() + " cannot open " + spare + ": " + failure);
          mayBeMissing(spare, failure.code());
          if (spare.deleted) {
            shared.remove(spare);
          }
        });
  }

  private void mayBeMissing(Spare spare, ErrorCode code) {
    if (code == ErrorCode.NOT_FOUND && !spare.everDoomed) {
      loop.violated("I6", spare + " is not found, and nobody has deleted it");
    }
  }

  private void write(Writing writing) {
    loop.note(life.host() + " writes to " + writing.spare);
    writings.add(writing);
    step(writing);
  }

  /** A record, a pause, and so on; then what is to become of the file. */
  private void step(Writing writing) {
    if (writing.closed) {
      return;
    }
    if (finishing) {
      finish(writing);
      return;
    }
    if (writing.left-- > 0) {
      append(writing);
    } else if (writing.mine && !writing.spare.doomed) {
      end(writing);
    } else if (!writing.mine && !writing.spare.doomed) {
      close(writing, () -> {});
      return;
    } else if (random.nextInt(8) == 0) {
      // Who goes on after that is told in the end that it is gone.
      close(writing, () -> {});
      return;
    } else {
      append(writing);
    }
    var _ = life.after(pause(), () -> step(writing));
  }

  private long pause() {
    return (10 + random.nextInt(200)) * MILLI;
  }

  private void append(Writing writing) {
    Spare spare = writing.spare;
    boolean gone = spare.deleted && finishing && loop.now() - spare.deletedAt >= SEALED_NANOS;
    int length = RecordBook.HEADER_BYTES + random.nextInt(MOST_BYTES);
    RecordBook.Entry record =
        book.submit(spare.path, client.writer(), client.nextNumber(), length, 0);
    writing.underWay++;
    Futures.onDone(
        writing.appender.append(record.bytes()),
        written -> {
          writing.underWay--;
          if (written.result().isEmpty()) {
            loop.violated("I6", record + " acknowledged without a place");
            return;
          }
          book.acknowledged(record, written.result().get());
          if (gone) {
            loop.violated(
                "I19", record + " is acknowledged in a file that was deleted long before");
          }
          if (writing.last) {
            finish(writing);
          }
        },
        failure -> {
          writing.underWay--;
          book.failed(record, failure.code());
          mayBeMissing(spare, failure.code());
          if (gone && failure.code() != ErrorCode.NOT_FOUND) {
            loop.violated(
                "I19", record + " is written to a deleted file and is not told so: " + failure);
          }
          if (!writing.closed) {
            close(writing, () -> {});
          }
        });
  }

  private void close(Writing writing, Runnable then) {
    writing.closed = true;
    busy++;
    Futures.onDone(
        writing.appender.close(Optional.empty(), false),
        status -> {
          busy--;
          writings.remove(writing);
          then.run();
        },
        failure -> {
          busy--;
          loop.note(life.host() + " cannot close " + writing.spare + ": " + failure);
          mayBeMissing(writing.spare, failure.code());
          if (life.isAlive() && failure.code() != ErrorCode.NOT_FOUND) {
            var _ = life.after(200 * MILLI, () -> close(writing, then));
            return;
          }
          writings.remove(writing);
          then.run();
        });
  }

  // ---- deleting ----------------------------------------------------------------------------

  private void end(Writing writing) {
    Spare spare = writing.spare;
    switch (random.nextInt(4)) {
      case 0 -> {
        append(writing); // it may come before the deletion or after it
        delete(spare);
      }
      case 1 -> delete(spare);
      case 2 -> close(writing, () -> delete(spare));
      default -> toTrash(spare);
    }
    if (spare.doomed) {
      writing.left = random.nextInt(MOST_RECORDS);
    }
    if (random.nextBoolean()) {
      client.read(spare.path, ReadMode.DEFAULT, false, () -> {});
    }
  }

  private boolean isFolder(Spare spare) {
    return !spare.top.equals(spare.path);
  }

  private void delete(Spare spare) {
    gone(spare);
    busy++;
    Futures.onDone(
        router.change(
            "delete " + spare.top,
            (master, id) -> master.delete(id, spare.top, isFolder(spare), true)),
        done -> {
          busy--;
          spare.deleted = true;
          spare.deletedAt = loop.now();
          loop.note(life.host() + " has deleted " + spare);
          isAway(spare);
        },
        failure -> {
          busy--;
          loop.note(life.host() + " does not know whether it has deleted " + spare);
          if (failure.code() == ErrorCode.NOT_FOUND) {
            loop.violated("I9", spare.top + " is told to be deleted already: " + failure);
          }
        });
  }

  private void gone(Spare spare) {
    spare.doomed = true;
    spare.everDoomed = true;
    book.mayBeGone(spare.path);
  }

  private void isAway(Spare spare) {
    Futures.onDone(
        router.ask("stat " + spare.path, master -> master.stat(spare.path)),
        status -> loop.violated("I9", spare + " was deleted and is there: " + status),
        failure -> {});
  }

  private void toTrash(Spare spare) {
    gone(spare);
    busy++;
    Futures.onDone(
        router.change(
            "delete " + spare.top,
            (master, id) -> master.delete(id, spare.top, isFolder(spare), false)),
        done -> {
          busy--;
          trashed.add(spare);
          loop.note(life.host() + " has put into the trash " + spare);
          if (finishing) {
            restore(spare);
          } else {
            var _ = life.after(10 * pause(), () -> restore(spare));
          }
        },
        failure -> {
          busy--;
          loop.note(life.host() + " does not know whether it has put into the trash " + spare);
        });
  }

  /** Only who sets a master's wall clock by a day has the trash emptied before. */
  private void restore(Spare spare) {
    if (!trashed.remove(spare)) {
      return;
    }
    busy++;
    Futures.onDone(
        router.change("restore " + spare.top, (master, id) -> master.restore(id, spare.top)),
        status -> {
          busy--;
          loop.note(life.host() + " has got back " + spare);
          book.isBack(spare.path);
          spare.doomed = false;
          client.read(spare.path, ReadMode.DEFAULT, false, () -> {});
        },
        failure -> {
          busy--;
          loop.note(life.host() + " has not got back " + spare + ": " + failure);
          if (failure.code() == ErrorCode.NOT_FOUND
              && !swarm.faults().contains(Swarm.Fault.WALL_STEP)) {
            loop.violated("I6", spare + " is not in the trash any more: " + failure);
          }
        });
  }

  // ---- the end -----------------------------------------------------------------------------

  /** All that is in the trash comes back, one last record to each file, and then it is closed. */
  void finish() {
    finishing = true;
    List.copyOf(trashed).forEach(this::restore);
    List.copyOf(writings).forEach(this::finish);
  }

  private void finish(Writing writing) {
    if (writing.closed) {
      return;
    }
    if (!writing.last) {
      writing.last = true;
      append(writing);
    } else if (writing.underWay == 0) {
      close(writing, () -> {});
    }
  }

  /** True when nothing is open any more. */
  boolean isDone() {
    return busy == 0 && writings.isEmpty();
  }

  /** What it still waits for, for people. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    for (Writing writing : writings) {
      text.append(writing.appender).append(" underWay=").append(writing.underWay).append("; ");
    }
    return busy == 0 ? text.toString() : text + "busy=" + busy + "; ";
  }
}
