package io.leasefs.master.state;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.log.OperationResult;
import io.leasefs.master.log.OperationResult.Added;
import io.leasefs.master.log.OperationResult.Applied;
import io.leasefs.master.log.OperationResult.Counted;
import io.leasefs.master.log.OperationResult.Done;
import io.leasefs.master.log.OperationResult.Opened;
import io.leasefs.master.log.OperationResult.Ordered;
import io.leasefs.master.log.OperationResult.Registered;
import io.leasefs.master.log.OperationResult.Rejected;
import io.leasefs.master.log.OperationResult.Touched;
import io.leasefs.master.log.OperationResult.Value;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Clients, their sessions, and the results of their recent requests. */
final class RequestHistory {
  /** The most results kept above a client's floor. */
  static final int WINDOW = 64;

  private static final class Client {
    final ClientId id;
    Optional<SessionId> session;
    long endedAt;
    long endedMillis;
    long floor = 1;
    final NavigableMap<Long, OperationResult> results = new TreeMap<>();

    Client(ClientId id, SessionId session) {
      this.id = id;
      this.session = Optional.of(session);
    }

    ClientEntry entry() {
      return new ClientEntry(id, session, endedAt, endedMillis);
    }
  }

  private final NavigableMap<ClientId, Client> clients = new TreeMap<>();

  @Nullable ClientEntry client(ClientId id) {
    Client client = clients.get(id);
    return client == null ? null : client.entry();
  }

  List<ClientEntry> ended() {
    List<ClientEntry> found = new ArrayList<>();
    for (Client client : clients.values()) {
      if (client.session.isEmpty()) {
        found.add(client.entry());
      }
    }
    return found;
  }

  /** A new session of a new or returning client. */
  void begin(ClientId id, SessionId session) {
    Client client = clients.get(id);
    if (client == null) {
      clients.put(id, new Client(id, session));
    } else {
      client.session = Optional.of(session);
      client.endedAt = 0;
      client.endedMillis = 0;
    }
  }

  void end(ClientId id, long ordinal, long wallMillis) {
    Client client = clients.get(id);
    if (client == null) {
      throw new IllegalStateException("session of an unknown client " + id);
    }
    client.session = Optional.empty();
    client.endedAt = ordinal;
    client.endedMillis = wallMillis;
  }

  void forget(long endedThrough) {
    clients.values().removeIf(c -> c.session.isEmpty() && c.endedAt <= endedThrough);
  }

  /** The stored result, or why there can be none any more; null for a request that is new. */
  @Nullable OperationResult find(RequestId id) {
    Client client = clients.get(id.client());
    if (client == null) {
      return null;
    }
    OperationResult result = client.results.get(id.sequence());
    if (result == null && id.sequence() < client.floor) {
      return new Rejected(
          ErrorCode.OUTCOME_UNKNOWN, "request " + id + " is below the floor " + client.floor);
    }
    return result;
  }

  /** Moves the floor; false where the sequence lies beyond the window. */
  boolean admit(RequestId id) {
    Client client = clients.get(id.client());
    if (client == null) {
      return id.sequence() < id.floor() + WINDOW;
    }
    if (id.floor() > client.floor) {
      client.floor = id.floor();
      client.results.headMap(client.floor, false).clear();
    }
    return id.sequence() < client.floor + WINDOW;
  }

  void record(RequestId id, OperationResult result) {
    Client client = clients.get(id.client());
    if (client == null) {
      throw new IllegalStateException("result for an unknown client " + id);
    }
    client.results.put(id.sequence(), result);
  }

  // ---------------------------------------------------------------- checkpoint

  void write(StateSink sink) {
    sink.number(clients.size());
    for (Client client : clients.values()) {
      sink.number(client.id.high());
      sink.number(client.id.low());
      ChunkEntryCodec.writeOptional(sink, client.session, session -> sink.number(session.value()));
      sink.number(client.endedAt);
      sink.number(client.endedMillis);
      sink.number(client.floor);
      sink.number(client.results.size());
      client.results.forEach(
          (sequence, result) -> {
            sink.number(sequence);
            write(sink, result);
          });
    }
  }

  static RequestHistory read(StateSource source) {
    RequestHistory history = new RequestHistory();
    for (long left = source.number(); left > 0; left--) {
      ClientId id = new ClientId(source.number(), source.number());
      Client client = new Client(id, new SessionId(0));
      client.session = ChunkEntryCodec.readOptional(source, from -> new SessionId(from.number()));
      client.endedAt = source.number();
      client.endedMillis = source.number();
      client.floor = source.number();
      for (long results = source.number(); results > 0; results--) {
        client.results.put(source.number(), readResult(source));
      }
      history.clients.put(id, client);
    }
    return history;
  }

  private static void write(StateSink sink, OperationResult result) {
    switch (result) {
      case Rejected rejected -> {
        sink.number(0);
        sink.text(rejected.code().name());
        sink.text(rejected.message());
      }
      case Applied applied -> write(sink, applied.value());
    }
  }

  private static void write(StateSink sink, Value value) {
    switch (value) {
      case Done done -> sink.number(1);
      case Registered registered -> {
        sink.number(2);
        sink.number(registered.session().value());
      }
      case Opened opened -> {
        sink.number(3);
        sink.number(opened.file().value());
        sink.number(opened.session().value());
        sink.number(opened.openNumber());
        ChunkEntryCodec.writeOptional(sink, opened.chunk(), chunk -> sink.number(chunk.value()));
        sink.flag(opened.born());
      }
      case Added added -> {
        sink.number(4);
        sink.number(added.chunk().value());
        sink.number(added.index());
        sink.flag(added.born());
      }
      case Touched touched -> {
        sink.number(5);
        sink.number(touched.file().value());
      }
      case Counted counted -> {
        sink.number(6);
        sink.number(counted.count());
      }
      case Ordered ordered -> {
        sink.number(7);
        sink.number(ordered.replica().value());
      }
    }
  }

  private static OperationResult readResult(StateSource source) {
    int kind = (int) source.number();
    return switch (kind) {
      case 0 -> new Rejected(ErrorCode.valueOf(source.text()), source.text());
      case 1 -> new Applied(Done.DONE);
      case 2 -> new Applied(new Registered(new SessionId(source.number())));
      case 3 ->
          new Applied(
              new Opened(
                  new FileId(source.number()),
                  new SessionId(source.number()),
                  source.number(),
                  ChunkEntryCodec.readOptional(source, from -> new ChunkHandle(from.number())),
                  source.flag()));
      case 4 ->
          new Applied(
              new Added(new ChunkHandle(source.number()), (int) source.number(), source.flag()));
      case 5 -> new Applied(new Touched(new FileId(source.number())));
      case 6 -> new Applied(new Counted(source.number()));
      case 7 -> new Applied(new Ordered(new ReplicaId(source.number())));
      default -> throw new IllegalStateException("unknown kind of result " + kind);
    };
  }

  void invariant(SessionTable sessions) {
    long live = 0;
    for (Client client : clients.values()) {
      if (client.session.isPresent()) {
        live++;
        SessionEntry session = sessions.session(client.session.get());
        check(
            session != null && session.client().equals(Optional.of(client.id)),
            "session of client " + client.id);
      } else {
        check(client.endedAt > 0, "end of client " + client.id);
      }
      check(client.results.size() <= WINDOW, "results of client " + client.id);
      check(
          client.results.isEmpty() || client.results.firstKey() >= client.floor,
          "floor of client " + client.id);
    }
    long expected = sessions.sessions().values().stream().filter(s -> !s.isServer()).count();
    check(live == expected, live + " live clients, " + expected + " sessions");
  }

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new IllegalStateException("request history: " + what);
    }
  }
}
