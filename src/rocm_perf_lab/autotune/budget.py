"""Parses `--budget`: a number of evaluations, or a time such as 90s, 30m or 2h."""

from __future__ import annotations

import re

from rocm_perf_lab.errors import UsageError

_SECONDS = {"s": 1, "m": 60, "h": 3600}


def parse_budget(text: str) -> tuple[int | None, float | None]:
    """(evaluations, None) or (None, seconds). Raises UsageError."""
    if re.fullmatch(r"[1-9]\d{0,8}", text):
        return int(text), None
    if (match := re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)) and float(match[1]) > 0:
        return None, float(match[1]) * _SECONDS[match[2]]
    raise UsageError(f"--budget {text}: neither a number of evaluations nor a time", "write 200, 90s, 30m or 2h")
