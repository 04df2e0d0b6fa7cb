package io.leasefs.master.log.ratis;

import io.leasefs.master.log.OperationLog.Committed;
import java.util.concurrent.CompletableFuture;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.thirdparty.com.google.protobuf.UnsafeByteOperations;

/** An operation on its way through the local Ratis server, with whoever waits for it. */
final class Submission implements Message {
  final CompletableFuture<Committed> answer = new CompletableFuture<>();
  private final ByteString content;
  private volatile boolean appended;

  Submission(byte[] content) {
    this.content = UnsafeByteOperations.unsafeWrap(content);
  }

  @Override
  public ByteString getContent() {
    return content;
  }

  /** From now on a failure says nothing about its fate. */
  void appending() {
    appended = true;
  }

  boolean mayBeInLog() {
    return appended;
  }
}
