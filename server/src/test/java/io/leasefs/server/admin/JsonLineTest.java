package io.leasefs.server.admin;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JsonLineTest {
  @Test
  void mapsKeepTheirOrder() {
    Map<String, Object> map = new LinkedHashMap<>();
    map.put("b", 1);
    map.put("a", List.of(true, 2L, 0.5));
    map.put("c", Map.of());
    map.put("d", Arrays.asList("x", null));
    assertThat(JsonLine.print(map))
        .isEqualTo("{\"b\":1,\"a\":[true,2,0.5],\"c\":{},\"d\":[\"x\",null]}");
  }

  @Test
  void textIsEscaped() {
    assertThat(JsonLine.print("\"\\\n\r\t\u0001é😀\ud800"))
        .isEqualTo("\"\\\"\\\\\\n\\r\\t\\u0001é😀\\ud800\"");
  }

  @Test
  void numbersThatJsonDoesNotKnowAreNull() {
    assertThat(JsonLine.print(List.of(Double.NaN, Double.POSITIVE_INFINITY)))
        .isEqualTo("[null,null]");
  }
}
