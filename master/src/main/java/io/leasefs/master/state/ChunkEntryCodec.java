package io.leasefs.master.state;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.log.Operation.ChangeReason;
import io.leasefs.master.log.Operation.Participant;
import io.leasefs.master.log.Operation.Seed;
import io.leasefs.master.state.ChunkEntry.Learner;
import io.leasefs.master.state.ChunkEntry.Lease;
import io.leasefs.master.state.ChunkEntry.Pending;
import io.leasefs.master.state.ChunkEntry.Step;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/** A chunk's entry in a checkpoint. Enums are written by name. */
final class ChunkEntryCodec {
  private ChunkEntryCodec() {}

  static void write(StateSink sink, ChunkEntry entry) {
    sink.number(entry.handle().value());
    sink.number(entry.spec().file().value());
    sink.number(entry.spec().capacityBytes());
    sink.flag(entry.spec().durability() == Durability.SYNCED);
    sink.number(entry.index());
    sink.number(entry.lastVersion());
    sink.number(entry.active().version());
    writeOptional(sink, entry.active().primary(), primary -> sink.text(primary.name()));
    writeList(sink, entry.active().members(), member -> write(sink, member));
    sink.number(entry.active().firstSerial());
    writeList(sink, entry.birth(), participant -> write(sink, participant));
    writeOptional(
        sink,
        entry.pending(),
        pending -> {
          sink.number(pending.version());
          sink.text(pending.step().name());
          sink.text(pending.reason().name());
          sink.flag(pending.seal());
          writeOptional(
              sink,
              pending.seed(),
              seed -> {
                sink.text(seed.server().name());
                sink.number(seed.incarnation());
              });
          writeList(sink, pending.targets(), target -> write(sink, target));
          sink.number(pending.since());
        });
    writeOptional(
        sink,
        entry.lease(),
        lease -> {
          sink.number(lease.session().value());
          sink.text(lease.server().name());
          sink.number(lease.version());
          sink.number(lease.token());
          sink.flag(lease.revoked());
        });
    writeOptional(
        sink,
        entry.seal(),
        seal -> {
          sink.number(seal.serial());
          sink.number(seal.lengthBytes());
          sink.number(seal.checksum());
        });
    sink.flag(entry.sealedForEver());
    writeList(
        sink,
        entry.learners(),
        learner -> {
          write(sink, learner.member());
          sink.number(learner.incarnation());
          sink.number(learner.version());
        });
    sink.number(entry.references());
  }

  static ChunkEntry read(StateSource source) {
    ChunkSpec spec =
        new ChunkSpec(
            new ChunkHandle(source.number()),
            new FileId(source.number()),
            source.number(),
            source.flag() ? Durability.SYNCED : Durability.REPLICATED);
    return new ChunkEntry(
        spec,
        (int) source.number(),
        source.number(),
        new Configuration(
            source.number(),
            readOptional(source, from -> new ServerId(from.text())),
            readList(source, ChunkEntryCodec::readMember),
            source.number()),
        readList(source, ChunkEntryCodec::readParticipant),
        readOptional(
            source,
            from ->
                new Pending(
                    from.number(),
                    Step.valueOf(from.text()),
                    ChangeReason.valueOf(from.text()),
                    from.flag(),
                    readOptional(from, seed -> new Seed(new ServerId(seed.text()), seed.number())),
                    readList(from, ChunkEntryCodec::readParticipant),
                    from.number())),
        readOptional(
            source,
            from ->
                new Lease(
                    new SessionId(from.number()),
                    new ServerId(from.text()),
                    from.number(),
                    from.number(),
                    from.flag())),
        readOptional(
            source, from -> new ChunkSeal(from.number(), from.number(), (int) from.number())),
        source.flag(),
        readList(source, from -> new Learner(readMember(from), from.number(), from.number())),
        (int) source.number());
  }

  private static void write(StateSink sink, Member member) {
    sink.text(member.server().name());
    sink.text(member.disk().text());
    sink.number(member.replica().value());
  }

  private static Member readMember(StateSource source) {
    return new Member(
        new ServerId(source.text()), new DiskId(source.text()), new ReplicaId(source.number()));
  }

  private static void write(StateSink sink, Participant participant) {
    write(sink, participant.member());
    sink.number(participant.incarnation());
  }

  private static Participant readParticipant(StateSource source) {
    return new Participant(readMember(source), source.number());
  }

  static <T> void writeOptional(StateSink sink, Optional<T> value, Consumer<T> writer) {
    sink.flag(value.isPresent());
    value.ifPresent(writer);
  }

  static <T> Optional<T> readOptional(StateSource source, Function<StateSource, T> reader) {
    return source.flag() ? Optional.of(reader.apply(source)) : Optional.empty();
  }

  static <T> void writeList(StateSink sink, List<T> values, Consumer<T> writer) {
    sink.number(values.size());
    values.forEach(writer);
  }

  static <T> List<T> readList(StateSource source, Function<StateSource, T> reader) {
    List<T> values = new ArrayList<>();
    for (long left = source.number(); left > 0; left--) {
      values.add(reader.apply(source));
    }
    return values;
  }
}
