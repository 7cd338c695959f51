"""dispatches.parquet: one row per dispatch or copy. Without pyarrow, the file is not written."""

from __future__ import annotations

from pathlib import Path

from rocm_perf_lab.atomic_write import atomic_write
from rocm_perf_lab.extras import absent_modules, how_to_install
from rocm_perf_lab.report.arrow_table import write_parquet
from rocm_perf_lab.report.documents import Documents

NAME = "dispatches.parquet"


def export(documents: Documents, directory: Path) -> None:
    if why_absent() is None:
        with atomic_write(directory / NAME) as temporary:
            write_parquet(documents.dispatches, temporary)


def why_absent() -> str | None:
    """Why analyses on this machine do not write the file; None if they do."""
    if not absent_modules("parquet"):
        return None
    return f"{NAME} is not written: it needs the Python package pyarrow ({how_to_install('parquet')})"
