"""Changes in numbers that do not vary from run to run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rocm_perf_lab.comparison.change import relative
from rocm_perf_lab.comparison.compare_document import ChangeSection, KernelSection, Unit


def exact_change(metric: str, unit: Unit, base: float | None, new: float | None) -> ChangeSection:
    """The change in a number that does not vary from run to run."""
    known = base is not None and new is not None
    change = relative(base, new) if base is not None and new is not None else None
    verdict = "undecided" if change is None else "same" if change == 0 else "more" if change > 0 else "less"
    return ChangeSection(
        metric=metric, unit=unit, base=base, new=new, interval=None, why_no_interval=None,
        change=change if known and change is not None and math.isfinite(change) else None, verdict=verdict,
    )  # fmt: skip


def counter_changes(kernel: KernelSection) -> Iterator[ChangeSection]:
    """The changes in all counters that both sides have."""
    yield from (exact_change(name, "", *pair) for name, pair in kernel.counters.items())
    yield from (exact_change(name, "", 0, 0) for name in kernel.same_counters)
