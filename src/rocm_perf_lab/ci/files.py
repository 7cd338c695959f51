"""The files that `rocm-perf ci` writes for other programs."""

from __future__ import annotations

from pathlib import Path

from rocm_perf_lab.atomic_write import atomic_write
from rocm_perf_lab.ci.document import CiDocument
from rocm_perf_lab.ci.junit import to_junit
from rocm_perf_lab.ci.markdown import to_markdown
from rocm_perf_lab.errors import OutputError
from rocm_perf_lab.json_model import json_text

JSON, MARKDOWN, JUNIT = "ci.json", "summary.md", "junit.xml"


def write_files(document: CiDocument, folder: Path) -> None:
    """Write the files of a check. Raises OutputError."""
    contents = {JSON: json_text(document) + "\n", MARKDOWN: to_markdown(document), JUNIT: to_junit(document)}
    for name, text in contents.items():
        try:
            with atomic_write(folder / name) as path:
                path.write_text(text, "utf-8", "backslashreplace")
        except OSError as error:
            raise OutputError(f"{folder / name} cannot be written ({error.strerror})", "free some space") from error
