/**
 * What may be forgotten: expired trash and copies that nobody refers to. Pure; run by the control
 * loop.
 */
@NullMarked
package io.leasefs.master.garbage;

import org.jspecify.annotations.NullMarked;
