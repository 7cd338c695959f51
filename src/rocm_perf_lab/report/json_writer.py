"""Writes documents as JSON files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rocm_perf_lab.atomic_write import atomic_write
from rocm_perf_lab.errors import OutputError
from rocm_perf_lab.report.schema import Document, SummaryDocument
from rocm_perf_lab.report.section_base import Section
from rocm_perf_lab.utf8 import utf8


def to_json(document: Section) -> str:
    """The document as JSON text, with fields in schema order, two-space indentation and one newline at the end."""
    return json.dumps(document.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_json(directory: Path, documents: Mapping[str, Document | SummaryDocument]) -> None:
    """Write each document to <name>.json, completely or not at all. Raises OutputError if a file cannot be written."""
    directory = Path(directory)
    with output_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
        for name, document in documents.items():
            with atomic_write(directory / f"{name}.json") as temporary:
                temporary.write_bytes(utf8(to_json(document)))


@contextmanager
def output_errors(directory: Path) -> Iterator[None]:
    """Turn an OSError into an OutputError that names the file."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write {error.filename or directory} ({error.strerror})", "choose another -o DIR") from error
