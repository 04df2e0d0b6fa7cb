package io.leasefs.master.control;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.api.Heartbeat.DeleteCommand;
import io.leasefs.common.api.Heartbeat.SettledCommand;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import org.junit.jupiter.api.Test;

class OutboxTest {
  private static final ServerId SERVER = new ServerId("cs1");
  private static final ChunkHandle GONE = new ChunkHandle(7);
  private static final ChunkHandle HERE = new ChunkHandle(8);

  private final Outbox outbox = new Outbox(100);

  @Test
  void ofChunksThatAreGoneOnlyTheOrderToDeleteStays() {
    SettledCommand old = new SettledCommand(GONE, 1, 5);
    SettledCommand alive = new SettledCommand(HERE, 1, 5);
    DeleteCommand delete = new DeleteCommand(GONE, new ReplicaId(3), 1);
    outbox.put(SERVER, Outbox.Slot.SETTLED, old);
    outbox.put(SERVER, Outbox.Slot.SETTLED, alive);
    outbox.put(SERVER, Outbox.Slot.DELETE, delete, 1);
    assertThat(outbox.take(SERVER, 0)).containsExactly(old, alive, delete);
    outbox.put(SERVER, Outbox.Slot.DELETE, delete, 1);

    outbox.dropGone(GONE::equals);

    assertThat(outbox.take(SERVER, 1_000)).containsExactly(alive, delete);
  }
}
