package io.leasefs.master.state;

import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Servers as registered, and all live sessions. */
final class SessionTable {
  private final NavigableMap<ServerId, ServerEntry> servers = new TreeMap<>();
  private final NavigableMap<SessionId, SessionEntry> sessions = new TreeMap<>();

  @Nullable ServerEntry server(ServerId server) {
    return servers.get(server);
  }

  NavigableMap<ServerId, ServerEntry> servers() {
    return servers;
  }

  @Nullable SessionEntry session(SessionId session) {
    return sessions.get(session);
  }

  NavigableMap<SessionId, SessionEntry> sessions() {
    return sessions;
  }

  void put(ServerEntry server) {
    servers.put(server.server(), server);
  }

  void remove(ServerId server) {
    servers.remove(server);
  }

  void add(SessionEntry session) {
    sessions.put(session.session(), session);
  }

  void end(SessionId session) {
    sessions.remove(session);
  }

  /** True where this incarnation is the registered one and its session lives. */
  boolean lives(ServerId server, long incarnation) {
    ServerEntry entry = servers.get(server);
    return entry != null && entry.incarnation() == incarnation && entry.session().isPresent();
  }

  void write(StateSink sink) {
    sink.number(servers.size());
    for (ServerEntry server : servers.values()) {
      sink.text(server.server().name());
      write(sink, server.endpoints().internal());
      write(sink, server.endpoints().external());
      sink.text(server.rack());
      sink.number(server.incarnation());
      sink.number(server.nonce());
      sink.text(server.bootId());
      ChunkEntryCodec.writeList(sink, server.disks(), disk -> sink.text(disk.text()));
      ChunkEntryCodec.writeOptional(
          sink, server.session(), session -> sink.number(session.value()));
      sink.flag(server.draining());
      sink.number(server.registeredMillis());
    }
    sink.number(sessions.size());
    for (SessionEntry session : sessions.values()) {
      sink.number(session.session().value());
      sink.number(session.ttlNanos());
      ChunkEntryCodec.writeOptional(sink, session.server(), server -> sink.text(server.name()));
      sink.number(session.incarnation());
      ChunkEntryCodec.writeOptional(
          sink,
          session.client(),
          client -> {
            sink.number(client.high());
            sink.number(client.low());
          });
    }
  }

  private static void write(StateSink sink, ServerAddress address) {
    sink.text(address.host());
    sink.number(address.port());
  }

  private static ServerAddress readAddress(StateSource source) {
    return new ServerAddress(source.text(), (int) source.number());
  }

  static SessionTable read(StateSource source) {
    SessionTable table = new SessionTable();
    for (long left = source.number(); left > 0; left--) {
      table.put(
          new ServerEntry(
              new ServerId(source.text()),
              new Endpoints(readAddress(source), readAddress(source)),
              source.text(),
              source.number(),
              source.number(),
              source.text(),
              ChunkEntryCodec.readList(source, from -> new DiskId(from.text())),
              ChunkEntryCodec.readOptional(source, from -> new SessionId(from.number())),
              source.flag(),
              source.number()));
    }
    for (long left = source.number(); left > 0; left--) {
      table.add(
          new SessionEntry(
              new SessionId(source.number()),
              source.number(),
              ChunkEntryCodec.readOptional(source, from -> new ServerId(from.text())),
              source.number(),
              ChunkEntryCodec.readOptional(
                  source, from -> new ClientId(from.number(), from.number()))));
    }
    return table;
  }

  void invariant() {
    for (ServerEntry server : servers.values()) {
      if (server.session().isPresent()) {
        SessionEntry session = sessions.get(server.session().get());
        check(
            session != null
                && session.server().equals(Optional.of(server.server()))
                && session.incarnation() == server.incarnation(),
            "session of " + server.server());
      }
    }
    for (SessionEntry session : sessions.values()) {
      check(session.server().isPresent() != session.client().isPresent(), "session of whom");
      if (session.server().isPresent()) {
        ServerEntry server = servers.get(session.server().get());
        check(
            server != null && server.session().equals(Optional.of(session.session())),
            "server of session " + session.session());
      }
    }
  }

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new IllegalStateException("sessions: " + what);
    }
  }
}
