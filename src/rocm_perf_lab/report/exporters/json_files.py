"""profile.json, roofline.json, dag.json, analysis.json, source.json and timeline.json."""

from __future__ import annotations

from pathlib import Path

from rocm_perf_lab.report.documents import Documents
from rocm_perf_lab.report.json_writer import write_json


def export(documents: Documents, directory: Path) -> None:
    write_json(directory, documents.by_name() | {"source": documents.source, "timeline": documents.timeline})
