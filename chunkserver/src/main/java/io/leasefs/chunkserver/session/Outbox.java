package io.leasefs.chunkserver.session;

import io.leasefs.common.api.Heartbeat.FailedMember;
import io.leasefs.common.api.Heartbeat.ReplicaReport;
import io.leasefs.common.api.Heartbeat.SealAnswer;
import io.leasefs.common.api.Heartbeat.VersionStarted;
import io.leasefs.common.model.ChunkHandle;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What the master has not answered yet. The rule: a request carries all of it, and what was in
 * request k is dropped when a response answers k or a later one. Bounded by the number of replicas:
 * there is one row a subject. Used by the session's thread only.
 */
final class Outbox {
  private static final long NEVER = Long.MAX_VALUE;

  /** What a piece of news is about; of the same subject only the newest is kept. */
  private record Subject(Kind kind, Object about) {}

  /** Whether there is a replica, and which, is one subject: an older one must not undo a newer. */
  private enum Kind {
    RELEASED,
    SEALED,
    STARTED,
    FAILED,
    REPLICA
  }

  private record Row(News news, long firstSequence) {}

  private final Map<Subject, Row> rows = new LinkedHashMap<>();

  void add(News news) {
    Subject subject = subject(news);
    rows.remove(subject);
    rows.put(subject, new Row(news, NEVER));
  }

  private static Subject subject(News news) {
    return switch (news) {
      case News.Released released -> new Subject(Kind.RELEASED, released.lease());
      case News.Sealed sealed -> new Subject(Kind.SEALED, sealed.answer().chunk());
      case News.Started started -> new Subject(Kind.STARTED, started.started().chunk());
      case News.Failed failed ->
          new Subject(
              Kind.FAILED,
              List.of(
                  failed.failed().chunk(), failed.failed().version(), failed.failed().member()));
      case News.Born born -> new Subject(Kind.REPLICA, born.report().spec().handle());
      case News.Changed changed -> new Subject(Kind.REPLICA, changed.report().spec().handle());
      case News.Gone gone -> new Subject(Kind.REPLICA, gone.chunk());
    };
  }

  /** Something urgent was added that no request has carried yet. */
  boolean hasUnsent() {
    for (Row row : rows.values()) {
      if (row.firstSequence == NEVER && !(row.news instanceof News.Born)) {
        return true;
      }
    }
    return false;
  }

  /** All of it, for the request with this sequence. */
  Contents take(long sequence) {
    Contents contents = new Contents();
    for (Map.Entry<Subject, Row> entry : rows.entrySet()) {
      Row row = entry.getValue();
      if (row.firstSequence == NEVER) {
        entry.setValue(new Row(row.news, sequence));
      }
      contents.add(row.news);
    }
    return contents;
  }

  /** The master has answered this request. */
  void answered(long sequence) {
    Iterator<Row> each = rows.values().iterator();
    while (each.hasNext()) {
      if (each.next().firstSequence <= sequence) {
        each.remove();
      }
    }
  }

  /** The session is over: what named its leases means nothing to the next one. */
  void sessionEnded() {
    rows.values()
        .removeIf(
            row ->
                switch (row.news) {
                  case News.Released released -> true;
                  case News.Failed failed -> true;
                  case News.Sealed sealed -> false;
                  case News.Started started -> false;
                  case News.Born born -> false;
                  case News.Changed changed -> false;
                  case News.Gone gone -> false;
                });
  }

  /** The lists of a request. */
  static final class Contents {
    final List<SealAnswer> sealAnswers = new ArrayList<>();
    final List<VersionStarted> versionStarts = new ArrayList<>();
    final List<FailedMember> failedMembers = new ArrayList<>();
    final List<ReplicaReport> replicas = new ArrayList<>();
    final List<ChunkHandle> gone = new ArrayList<>();

    private void add(News news) {
      switch (news) {
        case News.Released item -> {}
        case News.Sealed item -> sealAnswers.add(item.answer());
        case News.Started item -> versionStarts.add(item.started());
        case News.Failed item -> failedMembers.add(item.failed());
        case News.Born item -> replicas.add(item.report());
        case News.Changed item -> replicas.add(item.report());
        case News.Gone item -> gone.add(item.chunk());
      }
    }
  }
}
