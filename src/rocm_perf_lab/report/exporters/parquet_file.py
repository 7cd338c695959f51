"""dispatches.parquet: one row per dispatch or copy."""

from __future__ import annotations

from pathlib import Path

from rocm_perf_lab.atomic_write import atomic_write
from rocm_perf_lab.report.documents import Documents


def export(documents: Documents, directory: Path) -> None:
    with atomic_write(directory / "dispatches.parquet") as temporary:
        documents.dispatches.write(temporary)
