package io.leasefs.server.start;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ConfiguratorRank;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.OutputStreamAppender;
import ch.qos.logback.core.rolling.FixedWindowRollingPolicy;
import ch.qos.logback.core.rolling.RollingFileAppender;
import ch.qos.logback.core.rolling.SizeBasedTriggeringPolicy;
import ch.qos.logback.core.spi.ContextAwareBase;
import ch.qos.logback.core.util.FileSize;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.slf4j.LoggerFactory;
import org.slf4j.bridge.SLF4JBridgeHandler;

/**
 * Logging without a configuration file. Found by logback as its configurator when there is none: a
 * command then logs warnings to stderr; a server calls {@link #forServer}. A file given by {@code
 * -Dlogback.configurationFile}, or logback-test.xml, wins over both.
 */
@ConfiguratorRank(ConfiguratorRank.CUSTOM_LOW_PRIORITY)
public final class LogSetup extends ContextAwareBase implements Configurator {
  private static final String PATTERN =
      "%d{\"yyyy-MM-dd'T'HH:mm:ss.SSS'Z'\",UTC} %-5level %logger{0} [%thread] %msg%n";

  /** Libraries that log at INFO what is of no use to an operator. */
  private static final List<String> TALKATIVE =
      List.of("org.apache.ratis", "io.netty", "io.grpc", "com.sun.net.httpserver");

  /** For logback's ServiceLoader. */
  public LogSetup() {}

  @Override
  public ExecutionStatus configure(LoggerContext context) {
    install(context, console(context), Level.WARN);
    return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
  }

  /**
   * Logs one line an event to stderr or into a file (10 files of 10 MiB), and takes in what gRPC
   * logs by java.util.logging.
   *
   * @param level error, warn, info, debug or trace
   */
  static void forServer(String level, Optional<Path> file) {
    SLF4JBridgeHandler.removeHandlersForRootLogger();
    SLF4JBridgeHandler.install();
    if (System.getProperty("logback.configurationFile") != null
        || LogSetup.class.getResource("/logback-test.xml") != null
        || LogSetup.class.getResource("/logback.xml") != null) {
      return;
    }
    LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
    context.reset();
    Level wanted = Level.toLevel(level.toUpperCase(Locale.ROOT));
    OutputStreamAppender<ILoggingEvent> appender =
        file.map(path -> rollingFile(context, path)).orElseGet(() -> console(context));
    install(context, appender, wanted);
    if (wanted == Level.INFO) {
      TALKATIVE.forEach(name -> context.getLogger(name).setLevel(Level.WARN));
    }
  }

  private static void install(
      LoggerContext context, OutputStreamAppender<ILoggingEvent> appender, Level level) {
    PatternLayoutEncoder encoder = new PatternLayoutEncoder();
    encoder.setContext(context);
    encoder.setPattern(PATTERN);
    encoder.start();
    appender.setEncoder(encoder);
    appender.start();
    Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    root.setLevel(level);
    root.addAppender(appender);
  }

  private static OutputStreamAppender<ILoggingEvent> console(LoggerContext context) {
    ConsoleAppender<ILoggingEvent> console = new ConsoleAppender<>();
    console.setContext(context);
    console.setName("stderr");
    console.setTarget("System.err");
    return console;
  }

  private static OutputStreamAppender<ILoggingEvent> rollingFile(LoggerContext context, Path path) {
    RollingFileAppender<ILoggingEvent> file = new RollingFileAppender<>();
    file.setContext(context);
    file.setName("file");
    file.setFile(path.toString());
    FixedWindowRollingPolicy window = new FixedWindowRollingPolicy();
    window.setContext(context);
    window.setParent(file);
    window.setFileNamePattern(path + ".%i");
    window.setMinIndex(1);
    window.setMaxIndex(9);
    window.start();
    SizeBasedTriggeringPolicy<ILoggingEvent> size = new SizeBasedTriggeringPolicy<>();
    size.setContext(context);
    size.setMaxFileSize(FileSize.valueOf("10MB"));
    size.start();
    file.setRollingPolicy(window);
    file.setTriggeringPolicy(size);
    return file;
  }
}
