package io.leasefs.common.rpc;

import com.google.protobuf.ProtocolMessageEnum;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/**
 * Pairs the constants of a Java enum with those of its protobuf twin by name (the twin's carry a
 * prefix); built once, and fails there if the two lists differ. Immutable.
 */
final class EnumTable<J extends Enum<J>, P extends Enum<P> & ProtocolMessageEnum> {
  private final Map<J, P> toProto;
  private final Map<P, J> toModel;

  EnumTable(Class<J> model, Class<P> proto, String prefix) {
    EnumMap<J, P> forward = new EnumMap<>(model);
    EnumMap<P, J> back = new EnumMap<>(proto);
    for (J value : model.getEnumConstants()) {
      P twin = Enum.valueOf(proto, prefix + value.name());
      forward.put(value, twin);
      back.put(twin, value);
    }
    // UNSPECIFIED and UNRECOGNIZED have no twin
    if (proto.getEnumConstants().length != forward.size() + 2) {
      throw new IllegalStateException(proto + " and " + model + " differ");
    }
    this.toProto = Collections.unmodifiableMap(forward);
    this.toModel = Collections.unmodifiableMap(back);
  }

  P toProto(J value) {
    P twin = toProto.get(value);
    if (twin == null) {
      throw new IllegalStateException("no twin of " + value);
    }
    return twin;
  }

  /** Fails with INVALID_ARGUMENT for a constant that this version does not know. */
  J toModel(P value) {
    J twin = toModel.get(value);
    if (twin == null) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "unknown or missing " + value.getDeclaringClass().getSimpleName() + " in a message",
          "client and servers must run versions that go together");
    }
    return twin;
  }
}
