package io.leasefs.chunkserver;

import io.leasefs.chunkserver.copy.ChunkCopier;
import io.leasefs.chunkserver.lease.LeaseValidity;
import io.leasefs.chunkserver.pipeline.Peers;
import io.leasefs.chunkserver.replica.ReplicaEvent;
import io.leasefs.chunkserver.session.MasterSession;
import io.leasefs.chunkserver.session.News;
import io.leasefs.chunkserver.session.SessionEvent;
import io.leasefs.chunkserver.session.SessionListener;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Heartbeat.ReplicaReport;
import io.leasefs.common.edge.Scheduler;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries what the session brings to the chunks concerned, and answers for those that are not here.
 * Called on the session's executor; the work is done on the chunks'.
 */
final class MasterOrders implements SessionListener {
  private static final Logger logger = LoggerFactory.getLogger(MasterOrders.class);

  private final ReplicaTable table;
  private final Supplier<List<ReplicaReport>> unreadable;
  private final Peers peers;
  private final ChunkCopier copier;
  private final Scheduler scheduler;
  private final long forgetNanos;
  private final BiConsumer<SessionId, LeaseTerms> whenJoined;
  private final Consumer<LeaseFsException> whenRefused;
  private final Consumer<Boolean> whenStopped;
  private @Nullable MasterSession session;

  /**
   * @param unreadable the copies on the disk of which nothing is known but that they are there
   * @param forgetNanos how long after their end sessions are forgotten
   */
  MasterOrders(
      ReplicaTable table,
      Supplier<List<ReplicaReport>> unreadable,
      Peers peers,
      ChunkCopier copier,
      Scheduler scheduler,
      long forgetNanos,
      BiConsumer<SessionId, LeaseTerms> whenJoined,
      Consumer<LeaseFsException> whenRefused,
      Consumer<Boolean> whenStopped) {
    this.table = table;
    this.unreadable = unreadable;
    this.peers = peers;
    this.copier = copier;
    this.scheduler = scheduler;
    this.forgetNanos = forgetNanos;
    this.whenJoined = whenJoined;
    this.whenRefused = whenRefused;
    this.whenStopped = whenStopped;
  }

  /** Where news go; set once, before the session starts. */
  void newsGoTo(MasterSession newsTo) {
    this.session = newsTo;
  }

  private void tell(News news) {
    post(new SessionEvent.Told(news));
  }

  private void post(SessionEvent event) {
    MasterSession to = session;
    if (to != null) {
      to.post(event);
    }
  }

  @Override
  public void joined(String clusterId, SessionId sessionId, LeaseTerms terms) {
    whenJoined.accept(sessionId, terms);
  }

  @Override
  public void collect() {
    Collection<ReplicaLoop> loops = table.all();
    List<ReplicaReport> reports = new ArrayList<>(unreadable.get());
    if (loops.isEmpty()) {
      post(new SessionEvent.Collected(List.copyOf(reports)));
      return;
    }
    AtomicInteger left = new AtomicInteger(loops.size());
    for (ReplicaLoop loop : loops) {
      loop.between(
          () -> {
            ReplicaReport report = loop.isClosed() ? null : loop.core().report();
            synchronized (reports) {
              if (report != null) {
                reports.add(report);
              }
            }
            if (left.decrementAndGet() == 0) {
              synchronized (reports) {
                post(new SessionEvent.Collected(List.copyOf(reports)));
              }
            }
          });
    }
  }

  @Override
  public void granted(LeaseGrant grant, LeaseValidity lease) {
    peers.learn(grant.peers());
    table
        .stripe(grant.handle())
        .execute(
            () -> {
              ReplicaLoop loop = table.forGrant(grant);
              if (loop != null) {
                loop.step(new ReplicaEvent.Granted(grant, lease));
              } else {
                logger.warn(
                    "lease given back, its chunk is not here chunk={} version={}",
                    grant.handle(),
                    grant.version());
                tell(new News.Released(nameOf(grant)));
              }
            });
  }

  private static Heartbeat.LeaseName nameOf(LeaseGrant grant) {
    return new Heartbeat.LeaseName(grant.handle(), grant.version());
  }

  @Override
  public void over(Heartbeat.LeaseName lease) {
    with(lease.chunk(), loop -> loop.step(new ReplicaEvent.LeaseOver(lease.version())));
  }

  /** Runs the task where the chunk is here. */
  private void with(ChunkHandle chunk, Consumer<ReplicaLoop> task) {
    table
        .stripe(chunk)
        .execute(
            () -> {
              ReplicaLoop loop = table.find(chunk);
              if (loop != null) {
                task.accept(loop);
              }
            });
  }

  @Override
  public void sessionsDead(long watermark, List<SessionId> living) {
    table.sessionsDead(new ReplicaEvent.SessionsDead(watermark, living, false));
    // Nobody asks about them any more by then: their rows may go.
    var _ =
        scheduler.after(
            forgetNanos,
            () -> {
              ReplicaEvent forget = new ReplicaEvent.SessionsDead(watermark, living, true);
              table.all().forEach(loop -> loop.post(forget));
            });
  }

  @Override
  public void obey(Heartbeat.Command command) {
    switch (command) {
      case Heartbeat.SealCommand seal -> seal(seal);
      case Heartbeat.RecoverCommand recover -> recover(recover);
      case Heartbeat.CopyCommand copy -> copy(copy);
      case Heartbeat.DeleteCommand delete -> delete(delete);
      case Heartbeat.CloseCommand close -> toCore(close);
      case Heartbeat.SettledCommand settled -> toCore(settled);
    }
  }

  private void toCore(Heartbeat.Command command) {
    with(command.chunk(), loop -> loop.step(new ReplicaEvent.Commanded(command)));
  }

  private void seal(Heartbeat.SealCommand seal) {
    table
        .stripe(seal.chunk())
        .execute(
            () -> {
              ReplicaLoop loop = table.forSeal(seal);
              if (loop != null) {
                loop.step(new ReplicaEvent.Commanded(seal));
              } else {
                tell(new News.Sealed(unknown(seal)));
              }
            });
  }

  private static Heartbeat.SealAnswer unknown(Heartbeat.SealCommand seal) {
    ReplicaId asked = seal.member().replica();
    return new Heartbeat.SealAnswer(
        seal.chunk(), asked, seal.version(), 0, 0, 0, 0, 0, false, false, Certainty.UNKNOWN_CHUNK);
  }

  private void recover(Heartbeat.RecoverCommand recover) {
    Map<ServerId, ServerAddress> listening = new TreeMap<>();
    recover.targets().forEach(t -> listening.put(t.member().server(), t.address()));
    peers.learn(listening);
    toCore(recover);
  }

  private void copy(Heartbeat.CopyCommand copy) {
    peers.learn(Map.of(copy.source().server(), copy.sourceAddress()));
    copier.copy(copy);
  }

  private void delete(Heartbeat.DeleteCommand delete) {
    table
        .stripe(delete.chunk())
        .execute(
            () -> {
              ReplicaLoop loop = table.find(delete.chunk());
              if (loop == null) {
                if (isUnreadable(delete.chunk())) {
                  table.delete(delete.chunk());
                }
                // What would give birth to it may still be on its way.
                table.bury(delete.chunk(), delete.replica());
                tell(new News.Gone(delete.chunk(), delete.replica()));
              } else if (loop.core().mayDelete(delete)) {
                table.delete(delete.chunk());
                tell(new News.Gone(delete.chunk(), delete.replica()));
              } else {
                logger.info(
                    "order to delete does not apply chunk={} replica={} highestVersion={}",
                    delete.chunk(),
                    delete.replica(),
                    delete.highestVersion());
                // It was given by an older report: with the present one it can be given anew.
                tell(new News.Changed(loop.core().report()));
              }
            });
  }

  private boolean isUnreadable(ChunkHandle chunk) {
    return unreadable.get().stream().anyMatch(report -> report.spec().handle().equals(chunk));
  }

  @Override
  public void refused(LeaseFsException why) {
    whenRefused.accept(why);
  }

  @Override
  public void stopped(boolean givenBack) {
    whenStopped.accept(givenBack);
  }
}
