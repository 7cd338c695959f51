"""report.html: the whole report, for a browser."""

from __future__ import annotations

from pathlib import Path

from rocm_perf_lab.atomic_write import atomic_write
from rocm_perf_lab.report.documents import Documents
from rocm_perf_lab.report.html.page import page


def export(documents: Documents, directory: Path) -> None:
    with atomic_write(directory / "report.html") as temporary:
        temporary.write_text(page(documents, documents.source, documents.timeline), encoding="utf-8")
