"""How commands write HTML pages."""

from __future__ import annotations

from pathlib import Path

from rocm_perf_lab.cli.progress import note
from rocm_perf_lab.errors import OutputError


def write_page(path: Path, text: str) -> None:
    """Write the page completely or not at all, and print where it is. Raises OutputError."""
    from rocm_perf_lab.atomic_write import atomic_write

    try:
        with atomic_write(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"{path} cannot be written ({error.strerror})"
        raise OutputError(message, "choose a writable folder with enough free space") from error
    note(f"wrote {path}")
