package io.leasefs.chunkserver;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class PayloadLedgerTest {
  private final List<ByteBuffer> released = new ArrayList<>();
  private final PayloadLedger ledger = new PayloadLedger(released::add);
  private final ByteBuffer first = ByteBuffer.wrap(new byte[] {1});
  private final ByteBuffer second = ByteBuffer.wrap(new byte[] {2});

  @Test
  void whatWasSentOnceIsGivenBackWithItsCommit() {
    ledger.appended(7, first);
    ledger.sent(7);
    ledger.appended(8, second);
    assertThat(released).isEmpty();

    ledger.committed(7);

    assertThat(released).containsExactly(first);
    ledger.committed(8);
    assertThat(released).containsExactly(first, second);
  }

  @Test
  void whatWasSentAgainIsNeverGivenBack() {
    ledger.appended(7, first);
    ledger.sent(7);
    ledger.appended(8, second);
    ledger.sent(8);
    ledger.sent(7);

    ledger.committed(8);

    assertThat(released).containsExactly(second);
  }

  @Test
  void whatIsPendingWhenItsVersionEndsIsNeverGivenBack() {
    ledger.appended(7, first);
    ledger.sent(7);
    ledger.versionOver();
    ledger.appended(8, second);
    ledger.sent(8);

    ledger.committed(8);

    assertThat(released).containsExactly(second);
  }

  @Test
  void whatIsCutIsNeverGivenBackNorWhatTakesItsSerialAfterASend() {
    ledger.appended(7, first);
    ledger.sent(7);
    ledger.cut(6);
    ledger.appended(7, second);
    ledger.sent(7);

    ledger.committed(7);

    assertThat(released).isEmpty();
  }
}
