"""A duration on the command line: `90s`, `10m`, `1.5h`, or a number of seconds without a unit."""

from __future__ import annotations

import math
import re
from typing import Any

import click

from rocm_perf_lab.cli.parameter_type import ParamType

_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


class Duration(ParamType[float]):
    """Seconds, above 0."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        match = _DURATION.fullmatch(str(value).strip())
        if match is None or match[2] not in _SECONDS:
            self.fail(f"{value!r} is not a time such as 90s, 10m or 2h", param, ctx)
        seconds = float(match[1]) * _SECONDS[match[2]]
        if not 0 < seconds < math.inf:
            self.fail(f"{value!r}: the time must be above 0", param, ctx)
        return seconds
