package io.leasefs.client.meta;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.client.fake.Layouts;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.FileLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LocationCacheTest {
  private static final long MIB = 1 << 20;

  private final LocationCache cache = new LocationCache(10);

  private static ChunkLayout sealed(int index) {
    return Layouts.chunk(
        index, index * MIB, MIB, 1, 0, List.of(1), Optional.of(new ChunkSeal(9, MIB, 0)));
  }

  private static FileLayout layout(List<ChunkLayout> chunks, boolean complete) {
    return new FileLayout(Layouts.FILE, Layouts.status(0, 0, 0), chunks, complete);
  }

  @Test
  void aChunkIsFoundByOffsetUntilItsLayoutIsTooOld() {
    cache.put(layout(List.of(sealed(0), sealed(1)), true), 0, 100);
    assertThat(cache.find(Layouts.FILE, MIB, 100).chunk().orElseThrow().index()).isEqualTo(1);
    LocationCache.Found late = cache.find(Layouts.FILE, MIB, 101);
    assertThat(late.chunk()).isEmpty();
    assertThat(late.missingPage()).isEqualTo(0);
    assertThat(late.isEnd()).isFalse();
  }

  @Test
  void behindTheLastSealedChunkIsTheEnd() {
    cache.put(layout(List.of(sealed(0)), true), 0, 100);
    assertThat(cache.find(Layouts.FILE, MIB, 0).isEnd()).isTrue();
    assertThat(cache.sealedLength(Layouts.FILE)).isEqualTo(MIB);
  }

  @Test
  void anOpenChunkHoldsEverythingBehindIt() {
    ChunkLayout open = Layouts.chunk(1, MIB, MIB, 1, 1, List.of(1), Optional.empty());
    cache.put(layout(List.of(sealed(0), open), true), 0, 100);
    assertThat(cache.find(Layouts.FILE, 50 * MIB, 0).chunk()).contains(open);
    assertThat(cache.sealedLength(Layouts.FILE)).isEqualTo(MIB);
  }

  @Test
  void pagesAreFetchedOneByOne() {
    List<ChunkLayout> first = new ArrayList<>();
    for (int i = 0; i < LocationCache.PAGE; i++) {
      first.add(sealed(i));
    }
    cache.put(layout(first, false), 0, 100);
    LocationCache.Found found = cache.find(Layouts.FILE, LocationCache.PAGE * MIB, 0);
    assertThat(found.missingPage()).isEqualTo(LocationCache.PAGE);
    cache.put(layout(List.of(sealed(LocationCache.PAGE)), true), LocationCache.PAGE, 100);
    assertThat(cache.find(Layouts.FILE, LocationCache.PAGE * MIB, 0).chunk()).isPresent();
  }

  @Test
  void anUnknownFileMissesItsFirstPage() {
    assertThat(cache.find(Layouts.FILE, 0, 0).missingPage()).isEqualTo(0);
  }
}
