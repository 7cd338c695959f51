"""What an analysis leaves in a run directory. Adding a format: a file here with an `export`, and an entry below."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rocm_perf_lab.report.documents import Documents
from rocm_perf_lab.report.exporters import json_files, parquet_file
from rocm_perf_lab.report.write import output_errors

Export = Callable[[Documents, Path], None]
"""Writes its files into the directory, which exists, each whole or not at all. The same documents give the same bytes."""

EXPORTERS: dict[str, Export] = {"json": json_files.export, "parquet": parquet_file.export}


def export_all(documents: Documents, directory: Path) -> None:
    """Every format, into a directory that is made if need be. OutputError if a file cannot be written."""
    with output_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
        for export in EXPORTERS.values():
            export(documents, directory)
