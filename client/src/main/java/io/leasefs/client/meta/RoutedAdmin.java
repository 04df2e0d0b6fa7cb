package io.leasefs.client.meta;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** The operator's questions, at the leading master and asked again where that helps. */
public final class RoutedAdmin implements AdminApi {
  private final MasterRouter router;

  public RoutedAdmin(MasterRouter router) {
    this.router = router;
  }

  @Override
  public CompletableFuture<ClusterStatus> status() {
    return router.askAdmin("status", 0, AdminApi::status);
  }

  @Override
  public CompletableFuture<List<NodeStatus>> nodes() {
    return router.askAdmin("list of nodes", 0, AdminApi::nodes);
  }

  @Override
  public CompletableFuture<Void> drain(ServerId server, boolean undo) {
    return router.askAdmin("drain " + server, 0, admin -> admin.drain(server, undo));
  }

  @Override
  public CompletableFuture<Void> removeNode(ServerId server) {
    return router.askAdmin("removal of " + server, 0, admin -> admin.removeNode(server));
  }

  @Override
  public CompletableFuture<List<LeaseStatus>> leases(Optional<ServerId> server) {
    return router.askAdmin("list of leases", 0, admin -> admin.leases(server));
  }

  @Override
  public CompletableFuture<ChunkStatus> chunk(ChunkHandle chunk) {
    return router.askAdmin("chunk " + chunk, 0, admin -> admin.chunk(chunk));
  }

  @Override
  public CompletableFuture<List<Wait>> why(ChunkHandle chunk) {
    return router.askAdmin("why " + chunk, 0, admin -> admin.why(chunk));
  }

  @Override
  public CompletableFuture<List<ClusterEvent>> events(long after, int limit, long waitNanos) {
    return router.askAdmin("events", waitNanos, admin -> admin.events(after, limit, waitNanos));
  }

  @Override
  public CompletableFuture<List<Finding>> check(FilePath path, String after, int limit) {
    return router.askAdmin("check of " + path, 0, admin -> admin.check(path, after, limit));
  }

  @Override
  public CompletableFuture<Integer> raiseGeneration() {
    return router.askAdmin("raising of the generation", 0, AdminApi::raiseGeneration);
  }

  @Override
  public CompletableFuture<List<QuarantinedCopy>> quarantined(Optional<CopyName> after, int limit) {
    return router.askAdmin(
        "list of copies in quarantine", 0, admin -> admin.quarantined(after, limit));
  }

  @Override
  public CompletableFuture<Void> deleteQuarantined(CopyName copy, ReplicaId replica) {
    return router.askAdmin(
        "deletion of the copy of " + copy.chunk() + " at " + copy.server(),
        0,
        admin -> admin.deleteQuarantined(copy, replica));
  }
}
