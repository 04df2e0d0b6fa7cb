package io.leasefs.common.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ConfigReaderTest {
  private static final ConfigKey<Path> DATA = ConfigKey.path("data", "folder of the data");
  private static final ConfigKey<Duration> TTL =
      ConfigKey.duration("lease.ttl", "time to live of a lease").withDefault("10s");
  private static final ConfigKey<Boolean> FAULTS =
      ConfigKey.onOff("allow-faults", "take orders to fail");
  private static final ConfigKey<Long> ID = ConfigKey.number("id", "number of the master", 1, 9);
  private static final ConfigKey<ServerAddress> EXTERNAL =
      ConfigKey.address("listen.external", "second listener").optional();
  private static final ConfigReader READER =
      new ConfigReader(List.of(DATA, TTL, FAULTS, ID.withDefault("1"), EXTERNAL));

  @TempDir Path folder;

  @Test
  void flagBeatsVariableBeatsFileBeatsDefault() throws IOException {
    Path file = file("lease.ttl: 3s\n");
    Map<String, String> none = Map.of();
    Map<String, String> variable = Map.of("LEASEFS_LEASE_TTL", "4s");
    String at = file.toString();
    assertThat(ttl(List.of("--data=d"), none)).isEqualTo("10s from default");
    assertThat(ttl(List.of("--data=d", "--config", at), none)).isEqualTo("3s from " + at + ":1");
    assertThat(ttl(List.of("--data=d", "--config", at), variable))
        .isEqualTo("4s from LEASEFS_LEASE_TTL");
    assertThat(ttl(List.of("--data=d", "--config", at, "--lease-ttl", "5s"), variable))
        .isEqualTo("5s from --lease-ttl");
  }

  private static String ttl(List<String> arguments, Map<String, String> environment) {
    Config config = READER.read(arguments, environment);
    Config.Setting setting = config.setting(TTL);
    assertThat(config.get(TTL)).isEqualTo(DurationText.parse(setting.text()));
    return setting.text() + " from " + setting.source();
  }

  @Test
  void fileMayBeNamedByAVariable() throws IOException {
    Path file = file("data: /srv/leasefs\n");
    Config config = READER.read(List.of(), Map.of("LEASEFS_CONFIG", file.toString()));
    assertThat(config.get(DATA)).isEqualTo(Path.of("/srv/leasefs"));
  }

  @Test
  void switchStandsAloneOrWithAValue() {
    assertThat(READER.read(List.of("--data=d"), Map.of()).get(FAULTS)).isFalse();
    assertThat(READER.read(List.of("--allow-faults", "--data=d"), Map.of()).get(FAULTS)).isTrue();
    assertThat(READER.read(List.of("--allow-faults=false", "--data=d"), Map.of()).get(FAULTS))
        .isFalse();
  }

  @Test
  void optionalSettingMayStayUnset() {
    Config config = READER.read(List.of("--data=d"), Map.of());
    assertThat(config.find(EXTERNAL)).isEmpty();
    assertThat(config.setting(EXTERNAL).source()).isEqualTo("unset");
  }

  @Test
  void settingsAreListedInTheOrderOfTheirKeys() {
    assertThat(READER.read(List.of("--data=d"), Map.of()).settings())
        .extracting(Config.Setting::name)
        .containsExactly("data", "lease.ttl", "allow-faults", "id", "listen.external");
  }

  @Test
  void commentsQuotesAndBlankLinesAreUnderstood() throws IOException {
    Path file = file("# settings\r\n\n  # more\ndata: \"/a # b\" # why\nlease.ttl: 2s # short\n");
    Config config = READER.read(List.of("--config=" + file), Map.of());
    assertThat(config.get(DATA)).isEqualTo(Path.of("/a # b"));
    assertThat(config.get(TTL)).isEqualTo(Duration.ofSeconds(2));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "lease.tll: 3s          | unknown setting 'lease.tll'     | did you mean lease.ttl?",
        "colour: red            | unknown setting 'colour'        | known here: data lease.ttl",
        "lease.ttl=3s           | is not 'name: value'            | one setting a line",
        "'  lease.ttl: 3s'      | is not 'name: value'            | one setting a line",
        "lease.ttl:3s           | is not 'name: value'            | one setting a line",
        "lease.ttl: soon        | lease.ttl: 'soon' is not a dura | lease.ttl is: time to live",
        "data: \"half           | quotes do not pair up           | write \"text\"",
        "data: /second          | 'data' is set already at        | leave one of them out",
        "id: 10                 | '10' is not a whole number from | id is: number of the master",
      })
  void badLineIsRefusedWithItsNumber(String line, String message, String hint) throws IOException {
    Path file = file("data: /first\n" + line + "\n");
    LeaseFsException e = refused("--config", file.toString());
    assertThat(e).hasMessageStartingWith(file + ":2: ").hasMessageContaining(message);
    assertThat(e.hint()).contains(hint);
  }

  @Test
  void unknownFlagIsRefusedWithTheNearestKnownOne() {
    LeaseFsException e = refused("--data=d", "--lease-tl", "3s");
    assertThat(e).hasMessage("unknown argument '--lease-tl'");
    assertThat(e.hint()).isEqualTo("did you mean --lease-ttl?");
  }

  @Test
  void missingSettingNamesItsThreePlaces() {
    LeaseFsException e = refused();
    assertThat(e).hasMessage("--data is missing (folder of the data)");
    assertThat(e.hint()).contains("--data", "LEASEFS_DATA", "'data: ...'", "--config");
  }

  @Test
  void flagWithoutValueOrGivenTwiceIsRefused() {
    assertThat(refused("--data")).hasMessage("--data needs a value");
    assertThat(refused("--data=a", "--data=b")).hasMessage("--data is given twice");
  }

  @Test
  void badValueNamesItsSource() {
    LeaseFsException e =
        catchThrowableOfType(
            LeaseFsException.class,
            () -> READER.read(List.of("--data=d"), Map.of("LEASEFS_ID", "none")));
    assertThat(e).hasMessageStartingWith("LEASEFS_ID: id: 'none'");
  }

  @Test
  void missingFileAndBinaryFileAreRefused() throws IOException {
    String missing = folder.resolve("none").toString();
    assertThat(refused("--config", missing)).hasMessageStartingWith(missing + ": cannot be read");
    Path binary = Files.write(folder.resolve("binary"), new byte[] {(byte) 0xff, (byte) 0xfe});
    assertThat(refused("--config", binary.toString())).hasMessageContaining("is not UTF-8 text");
  }

  @Test
  void keysThatWouldShareAFlagAreABug() {
    ConfigKey<String> one = ConfigKey.text("a.b", "one");
    ConfigKey<String> other = ConfigKey.text("a-b", "other");
    assertThatThrownBy(() -> new ConfigReader(List.of(one, other)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("--a-b");
  }

  @Test
  void unreadableDefaultIsABug() {
    assertThatThrownBy(() -> ConfigKey.duration("x", "x").withDefault("soon"))
        .isInstanceOf(IllegalArgumentException.class);
  }

  private LeaseFsException refused(String... arguments) {
    return catchThrowableOfType(
        LeaseFsException.class, () -> READER.read(List.of(arguments), Map.of()));
  }

  private Path file(String content) throws IOException {
    return Files.writeString(folder.resolve("leasefs.conf"), content, StandardCharsets.UTF_8);
  }
}
