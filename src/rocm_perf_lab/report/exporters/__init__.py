"""The files that an analysis writes to a run directory. To add a format, add a module with an `export`, and an entry below."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rocm_perf_lab.report.documents import Documents
from rocm_perf_lab.report.exporters import html_file, json_files, parquet_file
from rocm_perf_lab.report.json_writer import output_errors

Export = Callable[[Documents, Path], None]
"""Writes its files, each completely or not at all, into an existing directory. The same documents yield the same bytes."""

EXPORTERS: dict[str, Export] = {"json": json_files.export, "parquet": parquet_file.export, "html": html_file.export}


def export_all(documents: Documents, directory: Path) -> None:
    """Write all formats to the directory, which is created if needed. Raises OutputError if a file cannot be written."""
    with output_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
        for export in EXPORTERS.values():
            export(documents, directory)
