"""Finds and reads source.json."""

from __future__ import annotations

from pathlib import Path

from rocm_perf_lab.errors import MissingInputError, UsageError
from rocm_perf_lab.kernel_pattern import fits
from rocm_perf_lab.report.read_run_directory import document_in
from rocm_perf_lab.report.source_schema import SourceDocument
from rocm_perf_lab.text.names import short_name

FILE = "source.json"
SUFFIX = ".rocm-perf"


def newest_run(folder: Path) -> Path:
    """The most recently written run directory in the folder. Raises MissingInputError."""
    runs = [path for path in folder.glob(f"*{SUFFIX}") if (path / FILE).is_file()]
    if not runs:
        raise MissingInputError(f"{folder.resolve()} has no run directory", "profile the program, or name a run directory")
    return max(runs, key=lambda path: (path / FILE).stat().st_mtime)


def read_source(run: Path, kernel: str | None) -> SourceDocument:
    """The source document, with only the kernels that match the pattern. Raises MissingInputError, TraceError, and UsageError
    if no kernel matches or the run has several ranks.
    """
    if not run.is_dir():
        raise MissingInputError(f"{run} is not a run directory", "name one of `rocm-perf profile`")
    if (run / "summary.json").is_file():
        ranks = [path.parent.name for path in sorted(run.glob(f"*/{FILE}"))]
        raise UsageError(f"{run} has several ranks", f"name one of its folders: {', '.join(ranks[:3])}")
    if not (run / FILE).is_file():
        raise MissingInputError(f"{run} has no {FILE}", "name a run directory of `rocm-perf profile`, made by this version")
    document = document_in(run / FILE, SourceDocument)
    matches = [source_kernel for source_kernel in document.kernels if fits(kernel, source_kernel.kernel, source_kernel.symbol)]
    if not matches:
        examples = ", ".join(short_name(source_kernel.kernel) for source_kernel in document.kernels[:3])
        raise UsageError(f"no kernel matches {kernel}", f"there are {examples}")
    return document.model_copy(update={"kernels": matches})
