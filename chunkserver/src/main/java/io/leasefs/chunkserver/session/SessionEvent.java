package io.leasefs.chunkserver.session;

import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Registration;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.ServerAddress;
import java.util.List;
import java.util.Optional;

/** What happens to a server's session. */
public sealed interface SessionEvent {
  /** All replicas have been read from the disks, and the server is reached there: register. */
  record Start(Endpoints endpoints, List<Heartbeat.DiskReport> disks) implements SessionEvent {}

  /** What every replica says of itself, as it was asked to. */
  record Collected(List<Heartbeat.ReplicaReport> replicas) implements SessionEvent {}

  /** The raised incarnation is fsynced; the nonce is fresh. */
  record IncarnationRaised(long incarnation, long nonce) implements SessionEvent {}

  /** The incarnation, or the term, could not be stored. */
  record NotStored(String why) implements SessionEvent {}

  /** A term is fsynced. */
  record TermStored(long term) implements SessionEvent {}

  /** The master took the registration of this attempt. */
  record Registered(long attempt, Registration.Response response) implements SessionEvent {}

  /** It did not, or nobody knows. */
  record RegistrationFailed(
      long attempt, ErrorCode code, Optional<ServerAddress> leader, String why)
      implements SessionEvent {}

  /** A heartbeat's response came on this connection. */
  record Answered(long connection, Heartbeat.Response response) implements SessionEvent {}

  /** The connection is over. */
  record Broken(long connection, String why) implements SessionEvent {}

  /** The time asked for has come, or some other. */
  record Woken() implements SessionEvent {}

  /** Something that the master has to learn. */
  record Told(News news) implements SessionEvent {}

  /** State of the disks, for the next request. */
  record Disks(List<Heartbeat.DiskReport> disks) implements SessionEvent {}

  /** Nothing is pending any more: give all leases back and end. */
  record Stop() implements SessionEvent {}
}
