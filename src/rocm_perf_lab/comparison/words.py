"""Changes in words."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rocm_perf_lab.comparison.compare_document import ChangeSection, KernelSection, Shape
from rocm_perf_lab.comparison.metrics import TIME
from rocm_perf_lab.text import quantities


def value(number: float | None, unit: str) -> str:
    """1500.0, 'ns' -> '1.5 us'."""
    if unit == "ns":
        return quantities.duration(number)
    return quantities.size(number) if unit == "bytes" else quantities.amount(number, unit)


def percent(change: float | None) -> str:
    """0.0512 -> '+5.1 %'; two significant digits if it is small."""
    if change is None:
        return quantities.UNKNOWN
    digits = 1 if abs(change) >= 0.001 or change == 0 else min(8, 1 - math.floor(math.log10(abs(100 * change))))
    return f"{100 * change:+.{digits}f} %" if change else "0.0 %"


def interval(change: ChangeSection) -> str:
    """'-7.0 to -4.1 %'; '' without an interval."""
    if change.interval is None:
        return ""
    low, high = (100 * (end - 1) for end in (change.interval.low, change.interval.high))
    return f"{low:+.1f} to {high:+.1f} %"


def change_in_words(change: ChangeSection) -> str:
    """'time 249 us -> 240 us (-3.6 %; -4.0 to -3.1 %)'."""
    text = f"{change.metric} {value(change.base, change.unit)} -> {value(change.new, change.unit)}"
    details = [percent(change.change)] if change.change is not None else []
    details += [part for part in (interval(change), change.why_no_interval or "") if part]
    return f"{text} ({'; '.join(details)})" if details else text


def other_changes(kernel: KernelSection) -> Iterator[str]:
    """What changed in a kernel besides its times and counters."""
    before, after = kernel.bottleneck
    if before != after and before and after:
        yield f"{before} -> {after}"
    for label, (base, new) in (("grid", kernel.grid), ("workgroup", kernel.workgroup)):
        if base != new:
            yield f"{label} {_shape(base)} -> {_shape(new)}"
    for change in kernel.changes:
        if change.metric not in (TIME, "path") and change.verdict in ("more", "less"):
            yield change_in_words(change)


def _shape(shape: Shape) -> str:
    return "x".join(map(str, shape))
