"""Reads back the documents of a run directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from rocm_perf_lab.errors import MissingInputError, TraceError
from rocm_perf_lab.report.dag_schema import DagDocument
from rocm_perf_lab.report.documents import CoreDocuments
from rocm_perf_lab.report.schema import AnalysisDocument, ProfileDocument, RooflineDocument, SummaryDocument

if TYPE_CHECKING:
    from rocm_perf_lab.report.section_base import Section

AnyDocument = TypeVar("AnyDocument", bound="Section")
_FILE, _SUMMARY = "analysis.json", "summary.json"


def is_run_directory(folder: Path) -> bool:
    """Whether the folder is the run directory of one process; a run directory of several ranks has a folder for each rank."""
    return (folder / _FILE).is_file()


def reports_in(folder: Path) -> CoreDocuments:
    """Raises MissingInputError if the folder is not a run directory, and TraceError for documents that are damaged or of a
    different version.
    """
    return CoreDocuments(
        document_in(folder / "profile.json", ProfileDocument),
        document_in(folder / "roofline.json", RooflineDocument),
        document_in(folder / "dag.json", DagDocument),
        document_in(folder / _FILE, AnalysisDocument),
    )


def read_run_directory(folder: Path) -> tuple[SummaryDocument | None, list[CoreDocuments]]:
    """The documents of each rank, and the summary if there are several. Raises as reports_in() does."""
    if folder.exists() and not folder.is_dir():
        raise MissingInputError(f"{folder} is a file, not a run directory", "`rocm-perf analyze` reports on a database")
    if not (folder / _SUMMARY).is_file():
        return None, [reports_in(folder)]
    summary = document_in(folder / _SUMMARY, SummaryDocument)
    return summary, [reports_in(folder / rank.directory) for rank in summary.ranks]


def document_in(path: Path, model: type[AnyDocument]) -> AnyDocument:
    """Raises MissingInputError, or TraceError for a document that is damaged or of a different version."""
    try:
        return model.model_validate_json(path.read_bytes())
    except OSError as error:
        raise MissingInputError(f"{path}: {error.strerror}", "name a run directory of `rocm-perf profile`") from error
    except ValidationError as error:
        raise TraceError(f"{path} {_complaint(error)}", "profile the program again") from error


def _complaint(error: ValidationError) -> str:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return f"is damaged: {first['msg']}"
    where = ".".join(map(str, first["loc"]))
    return f"is not a document of this version: {where}: {first['msg']}" if where else f"is not a document: {first['msg']}"
