package io.leasefs.common.rpc;

import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;

/** Makes random values of any record of the model by its components, from a seed. */
final class RandomValues {
  private final Random random;

  RandomValues(long seed) {
    this.random = new Random(seed);
  }

  <T> T next(Class<T> type) {
    return type.cast(make(type));
  }

  /** Of any type that occurs in the Apis. */
  Object make(Type type) {
    if (type instanceof ParameterizedType generic) {
      return makeGeneric(generic);
    }
    Class<?> plain = (Class<?>) type;
    if (plain == long.class || plain == Long.class) {
      return random.nextLong() >>> (1 + random.nextInt(63));
    }
    if (plain == int.class || plain == Integer.class) {
      return random.nextInt() >>> (1 + random.nextInt(31));
    }
    if (plain == boolean.class) {
      return random.nextBoolean();
    }
    if (plain == String.class) {
      return text();
    }
    if (plain == ByteBuffer.class) {
      return bytes();
    }
    if (plain.isEnum()) {
      Object[] values = plain.getEnumConstants();
      return values[random.nextInt(values.length)];
    }
    if (plain.isSealed()) {
      Class<?>[] cases = plain.getPermittedSubclasses();
      return make(cases[random.nextInt(cases.length)]);
    }
    Object restricted = makeRestricted(plain);
    return restricted != null ? restricted : makeRecord(plain);
  }

  private Object makeGeneric(ParameterizedType type) {
    Type[] arguments = type.getActualTypeArguments();
    if (type.getRawType() == Optional.class) {
      return random.nextBoolean() ? Optional.of(make(arguments[0])) : Optional.empty();
    }
    if (type.getRawType() == List.class) {
      List<Object> result = new ArrayList<>();
      for (int i = random.nextInt(4); i > 0; i--) {
        result.add(make(arguments[0]));
      }
      return result;
    }
    Map<Object, Object> result = new HashMap<>();
    for (int i = random.nextInt(4); i > 0; i--) {
      result.put(make(arguments[0]), make(arguments[1]));
    }
    return result;
  }

  /** Values of types that do not take every component. */
  private @org.jspecify.annotations.Nullable Object makeRestricted(Class<?> type) {
    if (type == ServerId.class) {
      return new ServerId("cs" + random.nextInt(1000));
    }
    if (type == DiskId.class) {
      return new DiskId(Long.toHexString(random.nextLong()));
    }
    if (type == FilePath.class) {
      return new FilePath("/" + text() + "x/é" + random.nextInt());
    }
    if (type == ServerAddress.class) {
      return new ServerAddress("host" + random.nextInt(9), random.nextInt(65_536));
    }
    if (type == ClientId.class) {
      return new ClientId(random.nextLong(), random.nextLong());
    }
    if (type == RequestId.class) {
      long sequence = 1L + random.nextInt(100);
      return new RequestId(
          next(ClientId.class),
          sequence,
          1 + random.nextInt((int) sequence),
          random.nextInt(1 << 30));
    }
    if (type == ChunkSpec.class) {
      ChunkSpec spec =
          new ChunkSpec(
              next(io.leasefs.common.model.ChunkHandle.class),
              next(io.leasefs.common.model.FileId.class),
              ChunkSpec.MIN_CAPACITY + random.nextInt((int) ChunkSpec.MAX_CAPACITY / 2),
              next(io.leasefs.common.model.Durability.class));
      return spec;
    }
    if (type == Configuration.class) {
      List<io.leasefs.common.model.Member> members = new ArrayList<>();
      for (int i = random.nextInt(4); i > 0; i--) {
        members.add(next(io.leasefs.common.model.Member.class));
      }
      return new Configuration(
          1L + random.nextInt(1000),
          random.nextBoolean() ? Optional.of(next(ServerId.class)) : Optional.empty(),
          members,
          random.nextInt(1000));
    }
    if (type == Checksums.class) {
      int[] values = new int[random.nextInt(17)];
      for (int i = 0; i < values.length; i++) {
        values[i] = random.nextInt();
      }
      return Checksums.owning(values);
    }
    return null;
  }

  private Object makeRecord(Class<?> type) {
    try {
      RecordComponent[] components = type.getRecordComponents();
      Class<?>[] types = new Class<?>[components.length];
      Object[] values = new Object[components.length];
      for (int i = 0; i < components.length; i++) {
        types[i] = components[i].getType();
        values[i] = make(components[i].getGenericType());
      }
      var constructor = type.getDeclaredConstructor(types);
      constructor.setAccessible(true);
      return constructor.newInstance(values);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("cannot make a " + type, e);
    }
  }

  private String text() {
    StringBuilder result = new StringBuilder();
    for (int i = random.nextInt(6); i > 0; i--) {
      result.append((char) ('a' + random.nextInt(26))).append("ü漢-".charAt(random.nextInt(3)));
    }
    return result.toString();
  }

  private ByteBuffer bytes() {
    int[] sizes = {0, 1, 1000, 4096, 4097, 65_536, 65_537, 1 << 20};
    int size = sizes[random.nextInt(sizes.length)];
    int skipped = random.nextInt(3);
    ByteBuffer result =
        random.nextBoolean()
            ? ByteBuffer.allocateDirect(size + skipped)
            : ByteBuffer.allocate(size + skipped);
    byte[] content = new byte[size];
    random.nextBytes(content);
    return result.position(skipped).put(content).position(skipped).slice();
  }
}
