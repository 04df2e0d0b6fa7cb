package io.leasefs.chunkserver;

import io.leasefs.common.api.ClusterApi;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Registration;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A master by script: renews every session, and says what the test tells it to say. Its lists are
 * for the test's thread only where the executor is the test's own loop.
 */
final class FakeMaster implements ClusterApi {
  private final Executor executor;
  private final LeaseTerms terms;
  private final Map<ServerId, Link> links = new TreeMap<>();
  private long lastSession = 100;

  /** Registrations are answered; else it is still starting. */
  boolean registers = true;

  private long number;

  /** What the servers have told, in order. */
  final List<Heartbeat.SealAnswer> sealAnswers = new ArrayList<>();

  final List<Heartbeat.VersionStarted> versionStarts = new ArrayList<>();
  final List<Heartbeat.FailedMember> failedMembers = new ArrayList<>();
  final List<Heartbeat.LeaseName> released = new ArrayList<>();
  final Map<ServerId, Long> incarnations = new TreeMap<>();
  final Map<ServerId, List<Heartbeat.ReplicaReport>> fullReports = new TreeMap<>();
  final List<Heartbeat.ReplicaReport> replicas = new ArrayList<>();

  private static final class Link {
    SessionId session = new SessionId(0);
    @Nullable Consumer<Heartbeat.Response> responses;
    Heartbeat.@Nullable Request newest;
    final List<LeaseGrant> grants = new ArrayList<>();
    final List<Heartbeat.LeaseName> revocations = new ArrayList<>();
    final List<Heartbeat.Command> commands = new ArrayList<>();
  }

  FakeMaster(Executor executor, LeaseTerms terms) {
    this.executor = executor;
    this.terms = terms;
  }

  @Override
  public synchronized CompletableFuture<Registration.Response> register(
      Registration.Request request) {
    if (!registers) {
      return CompletableFuture.failedFuture(
          new LeaseFsException(ErrorCode.STARTING, "the master is starting"));
    }
    Link link = links.computeIfAbsent(request.server(), s -> new Link());
    link.session = new SessionId(++lastSession);
    incarnations.put(request.server(), request.incarnation());
    return CompletableFuture.completedFuture(
        new Registration.Response(
            "cluster",
            1,
            link.session,
            1,
            terms.ttlNanos(),
            terms.heartbeatNanos(),
            terms.rpcTimeoutNanos(),
            terms.driftPpm(),
            terms.readingErrorNanos(),
            terms.guardNanos(),
            terms.stallNanos()));
  }

  @Override
  public HeartbeatStream heartbeat(
      Consumer<Heartbeat.Response> responses, Consumer<String> broken) {
    return new HeartbeatStream() {
      @Override
      public void send(Heartbeat.Request request) {
        executor.execute(() -> received(request, responses));
      }

      @Override
      public void close() {}
    };
  }

  private synchronized void received(
      Heartbeat.Request request, Consumer<Heartbeat.Response> responses) {
    Link link = links.computeIfAbsent(request.server(), s -> new Link());
    link.responses = responses;
    link.newest = request;
    sealAnswers.addAll(request.sealAnswers());
    versionStarts.addAll(request.versionStarts());
    failedMembers.addAll(request.failedMembers());
    released.addAll(request.released());
    replicas.addAll(request.replicas());
    if (request.fullReport()) {
      fullReports.put(request.server(), request.replicas());
    }
    answer(request.server());
  }

  /** Answers the newest request again, with whatever there is to say. */
  synchronized void answer(ServerId server) {
    Link link = links.get(server);
    if (link == null || link.responses == null || link.newest == null) {
      return;
    }
    boolean known = link.newest.session().equals(link.session);
    Heartbeat.Response response =
        new Heartbeat.Response(
            "cluster",
            1,
            new ServerId("m1"),
            ++number,
            link.newest.sequence(),
            known ? Heartbeat.Status.OK : Heartbeat.Status.UNKNOWN_SESSION,
            Optional.empty(),
            known ? terms.ttlNanos() : 0,
            List.copyOf(link.grants),
            List.copyOf(link.revocations),
            List.copyOf(link.commands),
            0,
            List.of(),
            0);
    link.grants.clear();
    link.revocations.clear();
    link.commands.clear();
    Consumer<Heartbeat.Response> to = link.responses;
    executor.execute(() -> to.accept(response));
  }

  synchronized void grant(ServerId server, LeaseGrant grant) {
    links.computeIfAbsent(server, s -> new Link()).grants.add(grant);
    answer(server);
  }

  synchronized void order(ServerId server, Heartbeat.Command command) {
    links.computeIfAbsent(server, s -> new Link()).commands.add(command);
    answer(server);
  }

  /** The session is over: the next heartbeat of this server learns it. */
  synchronized void endSession(ServerId server) {
    links.computeIfAbsent(server, s -> new Link()).session = new SessionId(0);
  }

  /** Sessions that begin from now on are younger than what has this number. */
  synchronized void skipSessionsTo(long number) {
    lastSession = Math.max(lastSession, number);
  }
}
