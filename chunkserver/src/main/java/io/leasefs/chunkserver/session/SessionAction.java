package io.leasefs.chunkserver.session;

import io.leasefs.chunkserver.lease.LeaseValidity;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Registration;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.SessionId;
import java.util.List;

/** What a session wants done, in this order. */
public sealed interface SessionAction {
  /** Raise the incarnation on the disk by so much, fsynced; then tell, with a fresh nonce. */
  record RaiseIncarnation(long by) implements SessionAction {}

  /** Make this the highest term seen on disk, fsynced; then tell. */
  record StoreTerm(long term) implements SessionAction {}

  /**
   * Make this the highest ordinal heard of on disk, fsynced. Nothing waits for it: what it guards
   * is a master that was put back to an older log.
   */
  record StoreOrdinal(long ordinal) implements SessionAction {}

  /** Register at this master; tell what came of it, with the attempt's number. */
  record Register(long attempt, ServerAddress master, Registration.Request request)
      implements SessionAction {}

  /** A session stands: note the cluster's id for ever, and the terms. */
  record Joined(String clusterId, SessionId session, LeaseTerms terms) implements SessionAction {}

  /** Ask every replica what it has, and tell. */
  record Collect() implements SessionAction {}

  /** Open a heartbeat stream; its events carry the connection's number. */
  record Connect(long connection, ServerAddress master) implements SessionAction {}

  /** Close it. */
  record Disconnect(long connection) implements SessionAction {}

  /** Send on this connection. */
  record Send(long connection, Heartbeat.Request request) implements SessionAction {}

  /** A lease has arrived. */
  record Granted(LeaseGrant grant, LeaseValidity lease, long leftNanos) implements SessionAction {}

  /** A lease is over before its time. */
  record Over(Heartbeat.LeaseName lease, String why) implements SessionAction {}

  /** All held leases are good for this long from now, if nothing ends them. */
  record Renewed(long leftNanos, int leases) implements SessionAction {}

  /** Sessions of clients below the watermark are dead, but for the exceptions. */
  record SessionsDead(long watermark, List<SessionId> living) implements SessionAction {}

  /** An order of the master for one of the replicas. */
  record Obey(Heartbeat.Command command) implements SessionAction {}

  /** Wake the session no later than this, on its clock; replaces an earlier wish. */
  record WakeAt(long nanos) implements SessionAction {}

  /** The process stood still. */
  record PauseSeen(long forNanos) implements SessionAction {}

  /** Something that an operator should see. */
  record Complain(String what) implements SessionAction {}

  /** The masters will never take this server: nothing is tried any more. */
  record GiveUp(ErrorCode code, String why, String hint) implements SessionAction {}

  /** All leases are given back, or will run out: the process may end. */
  record Stopped(boolean givenBack) implements SessionAction {}
}
