"""The parameters of the software device's timing model, in timing_gfx942.toml."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.resources import files
from typing import Any

from rocm_perf_lab.toml import tomllib


@lru_cache(maxsize=1)
def timing_parameters() -> dict[str, dict[str, Any]]:
    """Each parameter's entry in the table: value, source, rationale, uncertainty; adjustable and most where there are."""
    text = files("rocm_perf_lab.arch").joinpath("timing_gfx942.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def table_hash() -> str:
    """What a trace names as its timing parameters if it was modelled with the table as it is."""
    table = timing_parameters()
    text = "".join(f"{name}={table[name]['value']!r}\n" for name in sorted(table))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
