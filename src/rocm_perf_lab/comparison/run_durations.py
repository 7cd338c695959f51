"""The durations of dispatches in a run directory that has no database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.extras import absent_modules, how_to_install

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers

_TABLE = "dispatches.parquet"


def durations_in(run: Path) -> tuple[dict[str, list[Integers]], str | None]:
    """(durations in ns for each demangled kernel name, None), or ({}, why). Raises TraceError if the table is damaged."""
    if not (run / _TABLE).exists():
        return {}, f"the run directory has no {_TABLE}"
    if absent_modules("parquet"):
        return {}, f"reading {_TABLE} needs pyarrow: {how_to_install('parquet')}"
    return _read_durations(run / _TABLE), None


def _read_durations(path: Path) -> dict[str, list[Integers]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    from rocm_perf_lab.report.arrow_table import read_parquet

    table = read_parquet(path, ["kind", "name", "start_ns", "end_ns"])
    table = table.filter(pc.equal(table["kind"].cast(pa.string()), "dispatch"))
    names = table["name"].cast(pa.string()).to_pylist()
    took = np.asarray(table["end_ns"]) - np.asarray(table["start_ns"])
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    return {name: [took[of]] for name, of in rows.items()}
