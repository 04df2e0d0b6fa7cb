package io.leasefs.common.rpc;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import java.io.IOException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Errors as gRPC carries them: code, hint and request id travel in a {@code google.rpc.ErrorInfo},
 * the status is for tools that know no LeaseFS. Any thread.
 */
final class StatusMapper {
  private static final Logger log = LoggerFactory.getLogger(StatusMapper.class);
  private static final String DOMAIN = "leasefs.io";
  private static final String HINT = "hint";
  private static final String REQUEST = "request";
  private static final int MAX_TEXT = 2_000;

  /** What the native transport says before the reason that people know. */
  private static final Pattern SYSTEM_CALL =
      Pattern.compile("^\\w+\\(\\.\\.\\) failed with error\\(-?\\d+\\): ");

  private StatusMapper() {}

  /** An error and its trailers, ready to close a call with. */
  record Closing(Status status, @Nullable Metadata trailers) {}

  static Status.Code status(ErrorCode code) {
    return switch (code) {
      case NOT_FOUND -> Status.Code.NOT_FOUND;
      case ALREADY_EXISTS -> Status.Code.ALREADY_EXISTS;
      case PERMISSION -> Status.Code.PERMISSION_DENIED;
      case INVALID_PATH, INVALID_ARGUMENT, RECORD_TOO_LARGE, WRONG_CLUSTER ->
          Status.Code.INVALID_ARGUMENT;
      case NOT_A_DIRECTORY, IS_A_DIRECTORY, NOT_EMPTY -> Status.Code.FAILED_PRECONDITION;
      case NOT_LEADER, STARTING, OUTCOME_UNKNOWN, UNREACHABLE, TIMED_OUT -> Status.Code.UNAVAILABLE;
      case NOT_PRIMARY, STALE_VERSION, UNKNOWN_SESSION, FENCED -> Status.Code.ABORTED;
      case CORRUPT, LOG_SHORT -> Status.Code.DATA_LOSS;
      case NO_SPACE, TOO_FEW_SERVERS, BUSY -> Status.Code.RESOURCE_EXHAUSTED;
      case INTERNAL -> Status.Code.INTERNAL;
    };
  }

  /**
   * What a server answers. An exception that is no LeaseFsException is a bug: it is logged here
   * under a request id, and only the id is told.
   *
   * @param call the name of the call, for the log
   */
  static Closing toStatus(Throwable failure, String call) {
    Throwable cause = unwrap(failure);
    if (cause instanceof LeaseFsException known && known.code() != ErrorCode.INTERNAL) {
      return closing(known.code(), text(known), known.hint(), "");
    }
    String request = HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
    log.error("event=rpc_failed call={} request={}", call, request, cause);
    String text = cause instanceof LeaseFsException ? text(cause) : "internal error";
    return closing(
        ErrorCode.INTERNAL,
        text + " in " + call + ", request " + request,
        "look for this request in the server's log",
        request);
  }

  static StatusRuntimeException toException(Throwable failure, String call) {
    Closing closing = toStatus(failure, call);
    return closing.status().asRuntimeException(closing.trailers());
  }

  private static Closing closing(
      ErrorCode code, String message, @Nullable String hint, String request) {
    ErrorInfo.Builder info = ErrorInfo.newBuilder().setReason(code.name()).setDomain(DOMAIN);
    if (hint != null) {
      info.putMetadata(HINT, cut(hint));
    }
    if (!request.isEmpty()) {
      info.putMetadata(REQUEST, request);
    }
    StatusRuntimeException exception =
        StatusProto.toStatusRuntimeException(
            com.google.rpc.Status.newBuilder()
                .setCode(status(code).value())
                .setMessage(cut(message))
                .addDetails(Any.pack(info.build()))
                .build());
    return new Closing(exception.getStatus(), exception.getTrailers());
  }

  private static String text(Throwable failure) {
    String message = failure.getMessage();
    return message == null ? failure.getClass().getSimpleName() : message;
  }

  private static String cut(String text) {
    return text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT) + "...";
  }

  static Throwable unwrap(Throwable failure) {
    Throwable cause = failure;
    while ((cause instanceof CompletionException || cause instanceof ExecutionException)
        && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause;
  }

  /**
   * What a client throws.
   *
   * @param call what was asked, for the message
   * @param timeoutNanos how long it could wait
   */
  static LeaseFsException toModel(
      Status status,
      @Nullable Metadata trailers,
      ServerAddress address,
      String call,
      long timeoutNanos) {
    ErrorInfo info = errorInfo(status, trailers);
    String description = description(status);
    if (info != null) {
      String hint = info.getMetadataOrDefault(HINT, "");
      String whole = status.getDescription(); // a name in it may have more than one line
      return new LeaseFsException(
          code(info.getReason()),
          whole == null || whole.isEmpty() ? description : whole,
          hint.isEmpty() ? null : hint,
          status.getCause());
    }
    // Where a connection ends at a bad moment the transport says that it does not know.
    boolean cut =
        status.getCode() == Status.Code.UNKNOWN && status.getCause() instanceof IOException;
    return switch (cut ? Status.Code.UNAVAILABLE : status.getCode()) {
      // cancelled, but not by us: the server stopped while it was at it
      case UNAVAILABLE, CANCELLED ->
          new LeaseFsException(
              ErrorCode.UNREACHABLE,
              "cannot reach " + address + ": " + description,
              "check the address, and that the server runs",
              status.getCause());
      case DEADLINE_EXCEEDED ->
          new LeaseFsException(
              ErrorCode.TIMED_OUT,
              address + " gave no answer to " + call + " within " + millis(timeoutNanos) + " ms",
              null,
              status.getCause());
      case UNIMPLEMENTED ->
          new LeaseFsException(
              ErrorCode.INVALID_ARGUMENT,
              address + " does not offer " + call,
              "is this the address of another kind of server, or of another version?",
              status.getCause());
      case RESOURCE_EXHAUSTED ->
          new LeaseFsException(
              ErrorCode.INVALID_ARGUMENT,
              call + " at " + address + ": " + description,
              null,
              status.getCause());
      default ->
          new LeaseFsException(
              ErrorCode.INTERNAL,
              call + " at " + address + " failed: " + status.getCode() + " " + description,
              null,
              status.getCause());
    };
  }

  /**
   * Why a stream ended, in one line that starts with what a peer's core looks for: {@code reset:}
   * the other process or its port is gone; {@code timeout:} silence; {@code refused:} it said no,
   * and why; {@code closed:} it ended in order.
   */
  static String broken(Status status, @Nullable Metadata trailers, ServerAddress address) {
    ErrorInfo info = errorInfo(status, trailers);
    String description = description(status);
    if (info != null) {
      return "refused: " + info.getReason() + ": " + description;
    }
    if (description.startsWith("Channel shutdown")) {
      return "closed: by this side";
    }
    return switch (status.getCode()) {
      case OK -> "closed: " + address + " ended the stream";
      case DEADLINE_EXCEEDED -> "timeout: " + address + ": " + description;
      case UNAVAILABLE, CANCELLED ->
          (isSilence(status) ? "timeout: " : "reset: ") + address + ": " + description;
      default -> "refused: " + status.getCode() + ": " + address + ": " + description;
    };
  }

  private static boolean isSilence(Status status) {
    String text = description(status).toLowerCase(Locale.ROOT);
    return text.contains("keepalive failed") || text.contains("timed out");
  }

  /** One line: the cause's words where gRPC has none of its own. */
  private static String description(Status status) {
    String own = status.getDescription();
    String first = own == null ? "" : own.lines().findFirst().orElse("");
    Throwable cause = status.getCause();
    String text = first.isEmpty() || first.equals("io exception") ? "" : first;
    if (cause != null) {
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      String message = SYSTEM_CALL.matcher(text(cause)).replaceFirst("");
      message = message.lines().findFirst().orElse("");
      text = text.isEmpty() ? message : text.contains(message) ? text : text + ": " + message;
    }
    return text.isEmpty() ? status.getCode().toString() : text;
  }

  private static ErrorCode code(String reason) {
    for (ErrorCode code : ErrorCode.values()) {
      if (code.name().equals(reason)) {
        return code;
      }
    }
    return ErrorCode.INTERNAL;
  }

  private static @Nullable ErrorInfo errorInfo(Status status, @Nullable Metadata trailers) {
    if (trailers == null) {
      return null;
    }
    com.google.rpc.Status details =
        StatusProto.fromThrowable(new StatusException(status, trailers));
    if (details == null) {
      return null;
    }
    for (Any detail : details.getDetailsList()) {
      if (detail.is(ErrorInfo.class)) {
        try {
          ErrorInfo info = detail.unpack(ErrorInfo.class);
          return info.getDomain().equals(DOMAIN) ? info : null;
        } catch (InvalidProtocolBufferException e) {
          return null;
        }
      }
    }
    return null;
  }

  private static long millis(long nanos) {
    return nanos / 1_000_000;
  }
}
