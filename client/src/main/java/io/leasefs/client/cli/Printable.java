package io.leasefs.client.cli;

/**
 * Names as they are shown to people: whoever may make a file could else write lines of a table, or
 * orders to the terminal.
 */
final class Printable {
  private Printable() {}

  /** The text on one line: control characters, and those that turn text round, are spelt out. */
  static String of(String text) {
    if (text.codePoints().noneMatch(Printable::isOrder)) {
      return text;
    }
    StringBuilder shown = new StringBuilder();
    text.codePoints()
        .forEach(
            c -> {
              if (!isOrder(c)) {
                shown.appendCodePoint(c);
              } else if (c == '\n') {
                shown.append("\\n");
              } else if (c == '\t') {
                shown.append("\\t");
              } else if (c == '\r') {
                shown.append("\\r");
              } else {
                shown.append(String.format("\\u%04x", c));
              }
            });
    return shown.toString();
  }

  private static boolean isOrder(int codePoint) {
    return switch (Character.getType(codePoint)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR,
          Character.SURROGATE ->
          true;
      default -> false;
    };
  }
}
