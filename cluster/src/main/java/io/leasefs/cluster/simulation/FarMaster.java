package io.leasefs.cluster.simulation;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.ClusterApi;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.api.Registration;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** A master as another host sees it: every call and stream goes over the wires. */
final class FarMaster implements ClusterApi {
  private static final long REGISTER_NANOS = 2_000_000_000L;
  private static final long CALL_NANOS = 5_000_000_000L;

  /** What a master offers on its host. */
  record Services(MasterApi clients, AdminApi operators, ClusterApi chunkservers) {}

  private final Wires wires;
  private final Life from;
  private final ServerAddress address;
  private final Watch watch;
  private final MasterApi clients;
  private final AdminApi operators;

  FarMaster(Wires wires, Life from, ServerAddress address, Watch watch) {
    this.wires = wires;
    this.from = from;
    this.address = address;
    this.watch = watch;
    this.clients = proxy(MasterApi.class);
    this.operators = proxy(AdminApi.class);
  }

  /** A heartbeat that a master has got, and when. */
  private record Came(ServerId server, long incarnation, long nanos) {}

  MasterApi clients() {
    return clients;
  }

  AdminApi operators() {
    return operators;
  }

  /** All methods of both are calls with one answer. */
  private <A> A proxy(Class<A> api) {
    Object proxy =
        Proxy.newProxyInstance(
            FarMaster.class.getClassLoader(),
            new Class<?>[] {api},
            (self, method, arguments) -> {
              Object[] given = arguments == null ? new Object[0] : arguments;
              boolean waits = method.getName().equals("chunkLayout");
              long extra = waits ? (Long) given[given.length - 1] : 0;
              Wires.Served<Services, Object> served =
                  services -> {
                    Object target =
                        api.equals(MasterApi.class) ? services.clients() : services.operators();
                    try {
                      return answer(method.invoke(target, given));
                    } catch (InvocationTargetException e) {
                      if (e.getCause() instanceof LeaseFsException refused) {
                        throw refused;
                      }
                      throw new IllegalStateException(method.getName(), e.getCause());
                    } catch (IllegalAccessException e) {
                      throw new IllegalStateException(method.getName(), e);
                    }
                  };
              return wires.call(
                  from, address, Services.class, method.getName(), CALL_NANOS + extra, served);
            });
    return api.cast(proxy);
  }

  @SuppressWarnings("unchecked") // every method of the interfaces answers such a future
  private static CompletableFuture<Object> answer(Object returned) {
    return (CompletableFuture<Object>) returned;
  }

  @Override
  public CompletableFuture<Registration.Response> register(Registration.Request request) {
    return wires.call(
        from,
        address,
        Services.class,
        "register",
        REGISTER_NANOS,
        (Services services) -> services.chunkservers().register(request));
  }

  @Override
  public HeartbeatStream heartbeat(
      Consumer<Heartbeat.Response> responses, Consumer<String> broken) {
    Map<Long, Came> received = new HashMap<>();
    Wires.Stream<HeartbeatStream> stream =
        wires.open(
            from,
            address,
            Services.class,
            "heartbeats",
            broken::accept,
            line ->
                services -> {
                  HeartbeatStream end =
                      services
                          .chunkservers()
                          .heartbeat(
                              response -> {
                                if (wires.isEnding()) {
                                  return;
                                }
                                Came came = received.get(response.answersSequence());
                                if (came == null) {
                                  throw new IllegalStateException("answers nothing: " + response);
                                }
                                watch.answered(came.server(), came.incarnation(), response);
                                if (response.ttlNanos() > 0) {
                                  watch.renews(response, came.nanos());
                                }
                                line.up("answer", () -> responses.accept(response));
                              },
                              line::cut);
                  return new Wires.Accepted<>(end, end::close);
                });
    return new HeartbeatStream() {
      @Override
      public void send(Heartbeat.Request request) {
        if (wires.isEnding()) {
          return;
        }
        watch.sent(request);
        stream.send(
            "heartbeat",
            end -> {
              received.put(
                  request.sequence(),
                  new Came(request.server(), request.incarnation(), wires.now()));
              end.send(request);
            });
      }

      @Override
      public void close() {
        stream.line().close();
      }
    };
  }
}
