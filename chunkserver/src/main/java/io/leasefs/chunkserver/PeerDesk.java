package io.leasefs.chunkserver;

import io.leasefs.chunkserver.pipeline.FlightBudget;
import io.leasefs.chunkserver.pipeline.PeerInbox;
import io.leasefs.chunkserver.pipeline.Peers;
import io.leasefs.chunkserver.replica.ReplicaEvent;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.api.PeerMessage.Health;
import io.leasefs.common.api.PeerMessage.MemberProgress;
import io.leasefs.common.model.ServerId;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes in what peers say, checks its payload, and hands it to the chunk concerned; says so where
 * there is no such chunk. Any thread; the work is done on the chunk's executor.
 */
final class PeerDesk implements PeerInbox {
  private static final Logger logger = LoggerFactory.getLogger(PeerDesk.class);

  private final ServerId self;
  private final ReplicaTable table;
  private final FlightBudget budget;
  private @Nullable Peers peers;

  PeerDesk(ServerId self, ReplicaTable table, FlightBudget budget) {
    this.self = self;
    this.table = table;
    this.budget = budget;
  }

  /** The way back to the peers; set once, before the first message. */
  void answersGoTo(Peers streams) {
    this.peers = streams;
  }

  @Override
  public void message(ServerId from, PeerMessage message) {
    Mutation mutation = mutationOf(message);
    int bytes = mutation == null ? 0 : mutation.payload().remaining();
    budget.take(bytes);
    table
        .stripe(message.chunk())
        .execute(
            () -> {
              try {
                arrived(from, message, mutation);
              } finally {
                budget.release(bytes);
              }
            });
  }

  private void arrived(ServerId from, PeerMessage message, @Nullable Mutation mutation) {
    if (mutation != null && !mutation.checksums().match(mutation.payload(), Frame.PIECE)) {
      // As if the message had been lost with its stream: the chain finds the gap.
      logger.warn(
          "payload of a peer does not match peer={} chunk={} serial={}",
          from,
          message.chunk(),
          mutation.serial());
      return;
    }
    ReplicaLoop loop =
        message instanceof PeerMessage.Forward forward
            ? table.forForward(forward)
            : table.find(message.chunk());
    if (loop != null) {
      loop.step(new ReplicaEvent.PeerArrived(from, message));
    } else {
      answerForNobody(from, message);
    }
  }

  private static @Nullable Mutation mutationOf(PeerMessage message) {
    return switch (message) {
      case PeerMessage.Forward forward -> forward.mutation();
      case PeerMessage.Recovery recovery -> recovery.mutation();
      case PeerMessage.Committed committed -> null;
      case PeerMessage.ChainProgress progress -> null;
      case PeerMessage.Reconcile reconcile -> null;
      case PeerMessage.Reconciled reconciled -> null;
      case PeerMessage.ReconcileRefused refused -> null;
      case PeerMessage.RecoveryProgress progress -> null;
      case PeerMessage.CommittedQuery query -> null;
      case PeerMessage.CommittedAnswer answer -> null;
      case PeerMessage.PromiseQuery query -> null;
      case PeerMessage.PromiseAnswer answer -> null;
    };
  }

  /** What a server says about a chunk that it does not have; answers to nobody are dropped. */
  private void answerForNobody(ServerId from, PeerMessage message) {
    Peers streams = peers;
    if (streams == null) {
      return;
    }
    switch (message) {
      case PeerMessage.Forward forward ->
          streams.send(
              from,
              new PeerMessage.ChainProgress(
                  forward.chunk(),
                  forward.mutation().version(),
                  List.of(new MemberProgress(self, 0, Health.DIVERGED))));
      case PeerMessage.Reconcile reconcile ->
          streams.send(
              from,
              new PeerMessage.ReconcileRefused(
                  reconcile.chunk(), self, reconcile.version(), 0, true));
      case PeerMessage.CommittedQuery query ->
          streams.send(
              from,
              new PeerMessage.CommittedAnswer(
                  query.chunk(), query.version(), query.queryNumber(), false, 0, 0));
      case PeerMessage.PromiseQuery query ->
          streams.send(
              from,
              new PeerMessage.PromiseAnswer(
                  query.chunk(), query.version(), query.queryNumber(), false));
      case PeerMessage.Recovery recovery -> {}
      case PeerMessage.Committed committed -> {}
      case PeerMessage.ChainProgress progress -> {}
      case PeerMessage.Reconciled reconciled -> {}
      case PeerMessage.ReconcileRefused refused -> {}
      case PeerMessage.RecoveryProgress progress -> {}
      case PeerMessage.CommittedAnswer answer -> {}
      case PeerMessage.PromiseAnswer answer -> {}
    }
  }

  @Override
  public void broken(ServerId peer, String why) {
    for (ReplicaLoop loop : table.all()) {
      loop.post(new ReplicaEvent.PeerBroken(peer));
    }
  }
}
