package io.leasefs.chunkserver.replica;

import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.model.ServerId;

/**
 * A target of one version's recovery: cuts to what it shares with the seed and takes the rest, up
 * to the version start and nothing after (protocol, section 4, step 4).
 */
final class TargetRole {
  private final Replica replica;
  private final long version;
  private final ServerId seed;

  /** The cut is durable: records may come. */
  private boolean ready;

  private boolean progressDue;

  TargetRole(Replica replica, long version, ServerId seed) {
    this.replica = replica;
    this.version = version;
    this.seed = seed;
  }

  long version() {
    return version;
  }

  ServerId seed() {
    return seed;
  }

  /** The seed's order against this one. */
  void reconcile(PeerMessage.Reconcile message) {
    ChunkLog log = replica.log;
    if (log.version() == version) {
      progressDue = true; // the version start is here
      return;
    }
    long common = log.commonWith(message.history(), message.lastSerial());
    if (common < log.committedSerial()) {
      replica.send(
          seed,
          new PeerMessage.ReconcileRefused(
              replica.handle(), replica.self.server(), version, replica.promised(), true));
      return;
    }
    ready = false;
    replica.cut(common, () -> cut(common, message.committedSerial()));
  }

  private void cut(long common, long seedCommitted) {
    if (replica.promised() != version) {
      return;
    }
    ready = true;
    replica.commitTo(Math.min(common, seedCommitted));
    replica.send(
        seed, new PeerMessage.Reconciled(replica.handle(), replica.self.server(), version, common));
  }

  /** A record from the seed. */
  void recovery(ServerId from, Mutation mutation, Runnable whenStarted) {
    ChunkLog log = replica.log;
    if (!from.equals(seed)) {
      return;
    }
    if (!ready || log.version() == version || mutation.serial() != log.lastSerial() + 1) {
      progressDue = true;
      return;
    }
    boolean start = mutation.kind() == MutationKind.VERSION_START && mutation.version() == version;
    if (start) {
      replica.join(version);
      replica.append(mutation, true, false, null);
      replica.becomeCertain();
      replica.disk.whenQuiet(whenStarted);
    } else {
      replica.append(mutation, false, false, null);
    }
  }

  void durable() {
    progressDue = true;
  }

  /** Tells the seed how far this copy shares its order, durably. */
  void flush() {
    if (progressDue
        && replica.promised() == version
        && (ready || replica.log.version() == version)) {
      progressDue = false;
      replica.send(
          seed,
          new PeerMessage.RecoveryProgress(
              replica.handle(), replica.self.server(), version, replica.disk.durableSerial()));
    }
  }
}
