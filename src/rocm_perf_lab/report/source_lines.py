"""Reads the source lines that belong to kernels' code.

The paths come from a program's debug information, which cannot be trusted: only regular files with the suffix of a source file
are read, and only if they are not newer than the run.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping
from pathlib import Path

from rocm_perf_lab.report.source_schema import Excerpt, SourceFile

_SUFFIXES = frozenset(
    ".hip .cpp .cc .cxx .c .cu .cuh .cl .h .hh .hpp .hxx .inc .inl .ipp .tpp .py .s .S .ll .mlir .f90 .F90".split()
)
_MAX_BYTES = 4 << 20
_MAX_LINES = 2000  # per file
_MAX_LINE_LENGTH = 400  # characters per line
_AROUND, _MIN_GAP = 3, 6  # lines
_SYSTEM = ("/usr/", "/opt/")


def source_files(lines: Mapping[str, Iterable[int]], not_after: float) -> list[SourceFile]:
    """The files with their excerpts. lines: path -> numbers of the lines that have code. not_after: the time of the run, in
    seconds since the epoch.
    """
    common = _common_folder(lines)
    return [_file(path, _name(path, common), sorted(set(numbers)), not_after) for path, numbers in lines.items()]


def _common_folder(paths: Iterable[str]) -> str:
    """The deepest folder that contains all of the program's own files."""
    own = [posixpath.dirname(path) for path in paths if path.startswith("/") and not path.startswith(_SYSTEM)]
    return posixpath.commonpath(own) if own else ""


def _name(path: str, common: str) -> str:
    is_own = common and not path.startswith(_SYSTEM) and path.startswith("/")
    return posixpath.relpath(path, common) if is_own else path


def _file(path: str, name: str, numbers: list[int], not_after: float) -> SourceFile:
    text = _read_lines(path, not_after)
    if isinstance(text, str):
        return SourceFile(path=path, name=name, excerpts=None, reasons={"excerpts": text})
    return SourceFile(path=path, name=name, excerpts=list(_excerpts(text, numbers)))


def _read_lines(path: str, not_after: float) -> list[str] | str:
    """The lines of the file, or the reason for not showing them."""
    file = Path(path)
    if file.suffix not in _SUFFIXES:
        return "it does not have the suffix of a source file"
    try:
        status = file.stat()
        if not file.is_file():
            return "it is not a file"
        if status.st_size > _MAX_BYTES:
            return f"it is larger than {_MAX_BYTES >> 20} MiB"
        if status.st_mtime > not_after:
            return "it was changed after the run"
        return file.read_text("utf-8", "replace").split("\n")
    except OSError as error:
        return f"it cannot be read ({error.strerror or os.strerror(error.errno or 0)})"
    except ValueError:
        return "its name is not a valid file name"


def _excerpts(text: list[str], numbers: list[int]) -> Iterable[Excerpt]:
    """The lines that have code and a few around them; short gaps between excerpts are shown as well."""
    left = _MAX_LINES
    for first, last in _ranges(numbers, len(text)):
        lines = [_printable(line) for line in text[first - 1 : min(last, first - 1 + left)]]
        left -= len(lines)
        if lines:
            yield Excerpt(first=first, text=lines)


def _ranges(numbers: list[int], length: int) -> list[list[int]]:
    ranges: list[list[int]] = []
    for number in numbers:
        if not 0 < number <= length:
            continue
        first, last = max(1, number - _AROUND), min(length, number + _AROUND)
        if ranges and first - ranges[-1][1] <= _MIN_GAP:
            ranges[-1][1] = last
        else:
            ranges.append([first, last])
    return ranges


def _printable(line: str) -> str:
    line = "".join(
        character if character.isprintable() or character == "\t" else "\ufffd" for character in line.removesuffix("\r")
    ).expandtabs(4)
    return line if len(line) <= _MAX_LINE_LENGTH else f"{line[: _MAX_LINE_LENGTH - 1]}…"
