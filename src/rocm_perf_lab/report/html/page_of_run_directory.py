"""Regenerates report.html from the files of a run directory."""

from __future__ import annotations

from pathlib import Path

from rocm_perf_lab.errors import MissingInputError
from rocm_perf_lab.report.html.page import page
from rocm_perf_lab.report.read_run_directory import document_in, is_run_directory, reports_in
from rocm_perf_lab.report.source_schema import SourceDocument
from rocm_perf_lab.report.timeline_schema import TimelineDocument


def page_of_run_directory(run: Path) -> str:
    """The text of report.html as the analysis wrote it, with the options given then; the trace is not needed.

    Raises MissingInputError if `run` is not a run directory of one process, and TraceError for documents of a different
    version.
    """
    ranks = sorted(path.parent.name for path in run.glob("*/analysis.json"))
    if ranks and not is_run_directory(run):
        raise MissingInputError(f"{run} holds several ranks", f"name one of them, such as {run / ranks[0]}")
    source = document_in(run / "source.json", SourceDocument)
    return page(reports_in(run), source, document_in(run / "timeline.json", TimelineDocument))
