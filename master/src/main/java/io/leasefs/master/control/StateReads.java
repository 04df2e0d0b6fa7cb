package io.leasefs.master.control;

import io.leasefs.master.state.StateView;
import java.util.function.Function;

/** Reads of the hard state under its read lock: short, without waiting for anything else. */
public interface StateReads {
  /** What the function answers; the view is valid only inside. */
  <T> T read(Function<StateView, T> reads);
}
