"""Limits on changes: `time>2%`, `scratch>0`, `occupancy<0`, `SQ_INSTS_VALU>10%`."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from rocm_perf_lab.comparison.change import relative
from rocm_perf_lab.comparison.compare_document import ChangeSection
from rocm_perf_lab.comparison.metrics import names
from rocm_perf_lab.errors import UsageError

_FORM = re.compile(r"\s*([A-Za-z_]\w*)\s*([<>])\s*(-?\d+(?:\.\d+)?)\s*(%|ns|us|ms|s|KiB|MiB)?\s*")
_FACTORS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, None: 1}
_COUNTER = re.compile(r"[A-Z][A-Za-z0-9]*_\w+")  # the form of all hardware counter names
EXAMPLES = "time>2%, kernel_time>50us, scratch>0, occupancy<0 or SQ_INSTS_VALU>10%"


@dataclass(frozen=True)
class Limit:
    """The largest change that is allowed in a metric, or the smallest with '<'. percent: whether it is relative to the base."""

    text: str
    metric: str
    sign: str
    bound: float
    percent: bool

    @classmethod
    def of(cls, text: str) -> Limit:
        """Parse a limit such as 'time>2%'. Raises UsageError if the text is not a limit."""
        match = _FORM.fullmatch(text)
        if not match:
            raise UsageError(f"{text!r} is not METRIC>CHANGE", f"for example {EXAMPLES}")
        metric, sign, number, unit = match.groups()
        if metric not in names() and not _COUNTER.fullmatch(metric):
            near = difflib.get_close_matches(metric, names(), 1)
            meant = f"did you mean {near[0]}? There are" if near else "there are"
            raise UsageError(f"{metric} in {text!r} is not a metric", f"{meant} {', '.join(names())}, and hardware counters")
        percent = unit == "%"
        return cls(text.strip(), metric, sign, float(number) / 100 if percent else float(number) * _FACTORS[unit], percent)

    def exceeds(self, change: ChangeSection) -> bool | None:
        """Whether a change is beyond the limit; None if that is uncertain, or if a value is unknown."""
        if change.base is None or change.new is None:
            return None
        if change.interval is not None:
            ends = [self._beyond(change.base, change.base * ratio) for ratio in (change.interval.low, change.interval.high)]
            return ends[0] if ends[0] == ends[1] else None
        beyond = self._beyond(change.base, change.new)
        return None if beyond and change.why_no_interval else beyond

    def _beyond(self, base: float, new: float) -> bool:
        change = relative(base, new) if self.percent else new - base
        # Otherwise, a change of 2 % that rounding turned into 2.0000000001 % would exceed 'time>2%'.
        if math.isclose(change, self.bound, rel_tol=1e-9, abs_tol=1e-12):
            return False
        return change > self.bound if self.sign == ">" else change < self.bound


def parsed(texts: Iterable[str]) -> list[Limit]:
    """Parse several limits. Raises UsageError if a text is not a limit."""
    return [Limit.of(text) for text in texts]
