package io.leasefs.server.admin;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * A request to an admin page.
 *
 * @param method such as GET or POST
 * @param path the whole path, such as {@code /leases/0x51c}
 * @param query parameters in their order; of one given twice, the last
 * @param body at most 1 MiB
 */
public record AdminRequest(String method, String path, Map<String, String> query, String body) {
  public AdminRequest {
    query = new LinkedHashMap<>(query);
  }

  /** A parameter of the query. */
  public Optional<String> parameter(String name) {
    return Optional.ofNullable(query.get(name));
  }
}
