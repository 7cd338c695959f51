"""Writes the documents into a run directory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rocm_perf_lab.atomic_write import atomic_write
from rocm_perf_lab.errors import OutputError
from rocm_perf_lab.report.documents import Documents
from rocm_perf_lab.report.schema import Document, SummaryDocument
from rocm_perf_lab.report.section import Section
from rocm_perf_lab.utf8 import utf8


def to_json(document: Section) -> str:
    """The document as JSON text: the schema's order of fields, two spaces, one newline at the end."""
    return json.dumps(document.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_documents(directory: Path, documents: Documents) -> None:
    """Writes profile, roofline, dag and analysis .json and dispatches.parquet. Each file appears whole or not at all.

    The same documents give the same bytes. OutputError if a file cannot be written.
    """
    write_json(directory, documents.by_name())
    with _output_errors(directory):
        with atomic_write(Path(directory) / "dispatches.parquet") as temporary:
            documents.dispatches.write(temporary)


def write_json(directory: Path, documents: Mapping[str, Document | SummaryDocument]) -> None:
    """Writes <name>.json for each document; otherwise as write_documents."""
    directory = Path(directory)
    with _output_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
        for name, document in documents.items():
            with atomic_write(directory / f"{name}.json") as temporary:
                temporary.write_bytes(utf8(to_json(document)))


@contextmanager
def _output_errors(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write {error.filename or directory} ({error.strerror})", "choose another -o DIR") from error
