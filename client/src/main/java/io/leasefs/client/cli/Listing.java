package io.leasefs.client.cli;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Rows that are printed as an aligned table, JSON or names, as the user asked. */
public final class Listing {
  private final Output output;
  private final List<String> headers;
  private final List<String[]> rows = new ArrayList<>();
  private final List<Map<String, Object>> objects = new ArrayList<>();
  private final List<String> names = new ArrayList<>();
  private boolean withHeader = true;

  /** A header that starts with '>' aligns right, one that starts with '+' shows only when wide. */
  Listing(Output output, List<String> headers) {
    this.output = output;
    this.headers = headers;
  }

  /** No line of headers: for listings that everybody knows, such as {@code ls}. */
  public Listing withoutHeader() {
    withHeader = false;
    return this;
  }

  /** One row: its name, its JSON, its cells. In {@code jsonl} it is printed at once. */
  public void add(String name, Map<String, Object> object, String... cells) {
    switch (output.format()) {
      case JSONL -> output.line(Json.line(object));
      case JSON -> objects.add(object);
      case NAME -> output.line(name);
      case TABLE, WIDE -> rows.add(Arrays.stream(cells).map(Printable::of).toArray(String[]::new));
    }
    names.add(name);
  }

  public int size() {
    return names.size();
  }

  /** Prints what was kept back. */
  public void finish() {
    switch (output.format()) {
      case JSON -> output.line(Json.pretty(objects));
      case TABLE -> printTable(false);
      case WIDE -> printTable(true);
      case JSONL, NAME -> {}
    }
  }

  private void printTable(boolean wide) {
    int columns = headers.size();
    int[] widths = new int[columns];
    for (int c = 0; c < columns; c++) {
      widths[c] = withHeader ? title(c).length() : 0;
      for (String[] row : rows) {
        widths[c] = Math.max(widths[c], row[c].length());
      }
    }
    if (withHeader && !(rows.isEmpty() && columns == 0)) {
      String[] titles = new String[columns];
      for (int c = 0; c < columns; c++) {
        titles[c] = title(c);
      }
      output.line(format(titles, widths, wide));
    }
    for (String[] row : rows) {
      output.line(format(row, widths, wide));
    }
  }

  private String title(int column) {
    return headers.get(column).replaceAll("^[>+]+", "");
  }

  private String format(String[] cells, int[] widths, boolean wide) {
    StringBuilder line = new StringBuilder();
    for (int c = 0; c < cells.length; c++) {
      String header = headers.get(c);
      if (header.contains("+") && !wide) {
        continue;
      }
      if (line.length() > 0) {
        line.append("  ");
      }
      String pad = " ".repeat(widths[c] - cells[c].length());
      line.append(header.replace("+", "").startsWith(">") ? pad + cells[c] : cells[c] + pad);
    }
    return line.toString().stripTrailing();
  }
}
