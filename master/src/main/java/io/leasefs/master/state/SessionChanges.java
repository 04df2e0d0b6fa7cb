package io.leasefs.master.state;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.log.Operation.ClientCall;
import io.leasefs.master.log.Operation.DrainServer;
import io.leasefs.master.log.Operation.EndSessions;
import io.leasefs.master.log.Operation.RegisterServer;
import io.leasefs.master.log.Operation.RemoveServer;
import io.leasefs.master.log.OperationResult;
import io.leasefs.master.log.OperationResult.Applied;
import io.leasefs.master.log.OperationResult.Done;
import io.leasefs.master.log.OperationResult.Registered;
import io.leasefs.master.log.OperationResult.Rejected;
import io.leasefs.master.log.OperationResult.Value;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** What operations do to servers, sessions and clients (protocol, section 1). */
final class SessionChanges {
  private final SessionTable sessions;
  private final RequestHistory history;
  private final Namespace namespace;
  private final ChunkTable chunks;
  private final ChunkChanges chunkChanges;

  SessionChanges(
      SessionTable sessions,
      RequestHistory history,
      Namespace namespace,
      ChunkTable chunks,
      ChunkChanges chunkChanges) {
    this.sessions = sessions;
    this.history = history;
    this.namespace = namespace;
    this.chunks = chunks;
    this.chunkChanges = chunkChanges;
  }

  /**
   * A decision that rests on what only the leader knows, such as a clock, holds in the term in
   * which it was made, and in no other.
   */
  static void checkTerm(long decidedIn, long entryTerm) {
    if (decidedIn != entryTerm) {
      throw new LeaseFsException(
          ErrorCode.NOT_LEADER,
          "it was decided in term " + decidedIn + ", the entry is of term " + entryTerm);
    }
  }

  // ---------------------------------------------------------------- servers

  Value register(RegisterServer operation, long ordinal) {
    ServerEntry old = sessions.server(operation.server());
    if (old != null && isReplaced(old.disks(), operation.disks())) {
      checkReplacement(operation, old);
    }
    if (old != null && operation.incarnation() < old.incarnation()) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          operation.server()
              + ": incarnation "
              + operation.incarnation()
              + " is below the logged "
              + old.incarnation()
              + ": an old disk image or a clone");
    }
    if (old != null && operation.incarnation() == old.incarnation()) {
      if (operation.nonce() != old.nonce()) {
        throw new LeaseFsException(
            ErrorCode.INVALID_ARGUMENT,
            operation.server()
                + ": another process registered incarnation "
                + old.incarnation()
                + ": a clone");
      }
      return new Registered(
          old.session()
              .orElseThrow(
                  () ->
                      new LeaseFsException(
                          ErrorCode.UNKNOWN_SESSION,
                          operation.server()
                              + ": the session of incarnation "
                              + old.incarnation()
                              + " has ended; register a new one")));
    }
    checkDisks(operation);
    if (old != null) {
      old.session().ifPresent(session -> end(session, ordinal, operation.wallMillis()));
    }
    SessionId session = new SessionId(ordinal);
    sessions.add(
        new SessionEntry(
            session,
            operation.ttlNanos(),
            Optional.of(operation.server()),
            operation.incarnation(),
            Optional.empty()));
    sessions.put(
        new ServerEntry(
            operation.server(),
            operation.endpoints(),
            operation.rack(),
            operation.incarnation(),
            operation.nonce(),
            operation.bootId(),
            operation.disks(),
            Optional.of(session),
            old != null && old.draining(),
            operation.wallMillis()));
    return new Registered(session);
  }

  private static boolean isReplaced(List<DiskId> before, List<DiskId> now) {
    return !before.isEmpty() && !now.isEmpty() && Collections.disjoint(before, now);
  }

  /**
   * A server whose disk was replaced counts its incarnations from the start again. That is no old
   * image, for nothing is on it; but no proof either that the process with the old disk is dead:
   * two folders can be in use at once. So it waits for the end of that session, and then raises its
   * own count until it is above.
   */
  private static void checkReplacement(RegisterServer operation, ServerEntry old) {
    if (old.session().isPresent()) {
      throw new LeaseFsException(
          ErrorCode.BUSY,
          operation.server()
              + ": a process with another disk, "
              + old.disks()
              + ", is registered under this name, and its session has not ended");
    }
    if (operation.incarnation() <= old.incarnation()) {
      throw new LeaseFsException(
          ErrorCode.UNKNOWN_SESSION,
          operation.server()
              + ": its disk is another one, and incarnation "
              + operation.incarnation()
              + " not above the logged "
              + old.incarnation());
    }
  }

  private void checkDisks(RegisterServer operation) {
    for (ServerEntry other : sessions.servers().values()) {
      if (!other.server().equals(operation.server())) {
        for (DiskId disk : operation.disks()) {
          if (other.disks().contains(disk)) {
            throw new LeaseFsException(
                ErrorCode.INVALID_ARGUMENT,
                operation.server() + ": disk " + disk + " belongs to " + other.server());
          }
        }
      }
    }
  }

  Value drain(DrainServer operation) {
    sessions.put(require(operation.server()).withDraining(!operation.undo()));
    return Done.DONE;
  }

  Value remove(RemoveServer operation) {
    ServerEntry server = require(operation.server());
    if (server.session().isPresent()) {
      throw new LeaseFsException(
          ErrorCode.NOT_EMPTY, server.server() + ": its session lives; stop it first");
    }
    long members =
        chunks.at(server.server()).stream()
            .filter(h -> chunks.get(h).active().memberAt(server.server()).isPresent())
            .count();
    if (members > 0) {
      throw new LeaseFsException(
          ErrorCode.NOT_EMPTY,
          server.server() + ": holds " + members + " replicas that are not yet rebuilt elsewhere");
    }
    chunkChanges.removeLearners(server.server());
    sessions.remove(server.server());
    return Done.DONE;
  }

  private ServerEntry require(ServerId server) {
    ServerEntry entry = sessions.server(server);
    if (entry == null) {
      throw new LeaseFsException(ErrorCode.NOT_FOUND, server + ": no such server");
    }
    return entry;
  }

  // ---------------------------------------------------------------- ends

  Value end(EndSessions operation, long ordinal, long entryTerm) {
    checkTerm(operation.term(), entryTerm);
    for (SessionId session : operation.sessions()) {
      end(session, ordinal, operation.wallMillis());
    }
    return Done.DONE;
  }

  /** Ends a session and everything that hangs on it, in every table; unknown ones are skipped. */
  void end(SessionId session, long ordinal, long wallMillis) {
    SessionEntry entry = sessions.session(session);
    if (entry == null) {
      return;
    }
    sessions.end(session);
    if (entry.server().isPresent()) {
      chunkChanges.endSession(session);
      ServerEntry server = sessions.server(entry.server().get());
      if (server != null) {
        sessions.put(server.withSession(Optional.empty()));
      }
    }
    if (entry.client().isPresent()) {
      namespace.endSession(session, wallMillis);
      history.end(entry.client().get(), ordinal, wallMillis);
    }
  }

  // ---------------------------------------------------------------- clients

  /**
   * Once: a repeated request gets the result of the first time. Makes the client's session where it
   * has none. A rejection that the client may overcome by asking again is not kept.
   */
  OperationResult once(
      ClientCall call, long forgotten, long ordinal, Function<SessionId, Value> body) {
    OperationResult known = history.find(call.id());
    if (known != null) {
      return known;
    }
    if (!history.admit(call.id())) {
      return new Rejected(
          ErrorCode.BUSY, "request " + call.id() + ": too far above the oldest that is awaited");
    }
    ClientId id = call.id().client();
    ClientEntry client = history.client(id);
    if (client == null && call.id().newestForgetting() < forgotten) {
      return new Rejected(
          ErrorCode.UNKNOWN_SESSION,
          "client " + id + " connected too long ago and may have been forgotten");
    }
    SessionId session;
    if (client != null && client.session().isPresent()) {
      session = client.session().get();
    } else {
      session = new SessionId(ordinal);
      history.begin(id, session);
      history.admit(call.id());
      sessions.add(
          new SessionEntry(session, call.ttlNanos(), Optional.empty(), 0, Optional.of(id)));
    }
    OperationResult result;
    try {
      result = new Applied(body.apply(session));
    } catch (LeaseFsException e) {
      result = MetadataState.rejected(e);
    }
    boolean keep =
        !(result instanceof Rejected rejected)
            || rejected.code().reaction() == ErrorCode.Reaction.TELL;
    if (keep) {
      history.record(call.id(), result);
    }
    return result;
  }
}
