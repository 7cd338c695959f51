"""The errors of points that were left out of the fit, grouped by what limits their kernels, for arch/timing_errors.toml."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

_SHARE = 0.8  # share of the times that lie within the stated error

_HEAD = """\
# How far modelled times were from recorded ones, by what mostly limits a kernel (analysis/model_error.py). Each program
# was modelled with parameters that had been fitted to the others. Written by benchmarks/calibration.py --errors.
# [differences]: of two variants of one kernel, by benchmarks/variants.py --errors.
#
# within: four of five times, or ratios of times, differ by at most this fraction (of the shorter or smaller of the two).
"""


def with_limits(text: str, limits: Sequence[str], programs: Sequence[str], ratios: Sequence[float]) -> str:
    """`text`, the file's old contents, with the errors by limit replaced; its section [differences] is kept."""
    differences = re.search(r"\n\[differences\][^\[]*", text)
    return errors_text(limits, programs, ratios) + (differences[0] if differences else "")


def errors_text(limits: Sequence[str], programs: Sequence[str], ratios: Sequence[float]) -> str:
    """The file's text. ratios: modelled over recorded time of each point, in the order of `limits` and `programs`."""
    parts = [_HEAD]
    for limit in sorted(set(limits)):
        of_limit = [i for i, limit_of_point in enumerate(limits) if limit_of_point == limit]
        within = spread([ratios[i] for i in of_limit])
        names = sorted({programs[i] for i in of_limit})
        lines = (f"[limit.{limit}]", f"within = {within:.2f}", f"times = {len(of_limit)}", f"programs = {len(names)}")
        parts.append("\n".join(lines) + f"  # {', '.join(names)}\n")
    return "\n".join(parts)


def spread(ratios: Sequence[float]) -> float:
    """The error that four in five of the ratios do not exceed: 0.25 means 1.25 times as long, or as short."""
    return math.expm1(float(np.quantile(np.abs(np.log(ratios)), _SHARE)))
