"""The parameters of the software device's timing model: timing_gfx942.toml, plus the differences from it for other targets."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from rocm_perf_lab.toml import tomllib

CALIBRATED_TARGET = "gfx942"  # its table has all parameters, some of them fitted to recorded times

UNCALIBRATED_TARGETS = ("gfx90a", "gfx1030", "gfx950")


@cache
def timing_parameters(target: str = CALIBRATED_TARGET) -> dict[str, dict[str, Any]]:
    """Each parameter's entry in the table: value, source, rationale, uncertainty and, if present, `adjustable` and `most`."""
    table = _table(CALIBRATED_TARGET)
    if target == CALIBRATED_TARGET:
        return table
    return {name: entry | _table(target).get(name, {}) for name, entry in table.items()}


@cache
def _table(target: str) -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("rocm_perf_lab.arch").joinpath(f"timing_{target}.toml").read_text(encoding="utf-8"))


def table_hash(target: str = CALIBRATED_TARGET) -> str:
    """The name by which a trace identifies its timing parameters if it was modelled with the target's unmodified table."""
    table = timing_parameters(target)
    text = "".join(f"{name}={table[name]['value']!r}\n" for name in sorted(table))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
