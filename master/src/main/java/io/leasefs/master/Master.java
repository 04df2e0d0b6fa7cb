package io.leasefs.master;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.ClusterApi;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.api.Registration;
import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.RandomSource;
import io.leasefs.common.edge.Scheduler;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.master.control.AdminFace;
import io.leasefs.master.control.ClientFace;
import io.leasefs.master.control.ControlLoop;
import io.leasefs.master.control.ControlSettings;
import io.leasefs.master.control.Layouts;
import io.leasefs.master.control.StateReads;
import io.leasefs.master.log.OperationLog;
import io.leasefs.master.placement.SpreadPlacement;
import io.leasefs.master.replicated.ReplicatedState;
import io.leasefs.master.state.StateView;
import io.leasefs.server.events.EventLog;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * One master, assembled: the log and its state below, the control loop in the middle, what clients,
 * operators and chunkservers may ask on top. Starts no thread and never blocks; everything that
 * differs between a process and the simulator is an argument.
 */
public final class Master {
  private final ControlSettings settings;
  private final Clock clock;
  private final StateReads state;
  private final Scheduler scheduler;
  private final EventLog events;
  private final ControlLoop loop;

  /**
   * @param queue runs one task at a time, in order: the control loop's thread
   * @param log applies to {@code state}
   */
  public Master(
      ControlSettings settings,
      Clock clock,
      Executor queue,
      Scheduler scheduler,
      RandomSource random,
      OperationLog log,
      ReplicatedState state,
      EventLog events) {
    this.settings = settings;
    this.clock = clock;
    this.scheduler = scheduler;
    this.events = events;
    this.state =
        new StateReads() {
          @Override
          public <T> T read(Function<StateView, T> reads) {
            return state.read(reads);
          }
        };
    this.loop =
        new ControlLoop(
            settings,
            clock,
            queue,
            scheduler,
            log,
            this.state,
            random,
            new SpreadPlacement(),
            events);
  }

  /**
   * What the clients of one listener ask.
   *
   * @param side which of a server's two addresses they are told
   */
  public MasterApi clients(Function<Endpoints, ServerAddress> side) {
    return new ClientFace(loop, settings, state, clock::wallMillis, side);
  }

  /** What operators of one listener ask. */
  public AdminApi operators(Function<Endpoints, ServerAddress> side) {
    return new AdminFace(loop, settings, new Layouts(side), events, scheduler, clock::nanos);
  }

  /** What chunkservers ask. */
  public ClusterApi chunkservers() {
    return new ClusterApi() {
      @Override
      public CompletableFuture<Registration.Response> register(Registration.Request request) {
        return loop.register(request);
      }

      @Override
      public HeartbeatStream heartbeat(
          Consumer<Heartbeat.Response> responses, Consumer<String> broken) {
        return loop.heartbeat(responses, broken);
      }
    };
  }

  /** In one line, why this leader serves nobody for its log is short; empty where it does. */
  public Optional<String> shortage() {
    return loop.shortage();
  }

  /** What it is now. */
  public OperationLog.Role role() {
    return loop.role();
  }
}
