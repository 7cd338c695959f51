"""`triton.testing.do_bench` in modelled time: one warm-up run and one measured run, since any further run would take exactly
as long.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rocm_perf_triton import software_device
from rocm_perf_triton.clock import CLOCK


def do_bench(
    fn: Callable[[], Any],
    warmup: object = None,
    rep: object = None,
    grad_to_none: Iterable[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
    **_: object,
) -> Any:
    """The time, in ms, taken by the Triton kernels that fn() launches, starting with empty caches; NaN if it launches none.

    `warmup` and `rep` have no effect. All quantiles and statistics are computed from a single time.
    """
    from triton.testing import _summarize_statistics

    fn()
    for tensor in grad_to_none or ():
        tensor.grad = None
    if CLOCK.launches:
        software_device.invalidate_caches()
    before, launches = CLOCK.milliseconds, CLOCK.launches
    fn()
    time = CLOCK.milliseconds - before if CLOCK.launches > launches else _nothing_launched()
    return _summarize_statistics([time], quantiles, return_mode)


_printed_notes: set[str] = set()


def _nothing_launched() -> float:
    if "nothing" not in _printed_notes:
        _printed_notes.add("nothing")
        print("rocm-perf: code that launches no Triton kernel has no modelled time: do_bench returns NaN", file=sys.stderr)
    return math.nan
