"""The source code that a proposer sees: the kernel, and what it uses from the source's folder."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.hip_source import HipSource, SourceKernel
from rocm_perf_lab.hip_source.tokens import compiled_line_of
from rocm_perf_lab.hip_source.used_declarations import DeclarationText, kernel_and_used_declarations
from rocm_perf_lab.prompt.path_scrubber import PathScrubber

_MAX_BYTES = 8000  # limit on the text shown for each declaration


@dataclass(frozen=True)
class Excerpt:
    """Whole lines of a file. file: relative to the source's folder. first_line: its line number, as in debug information. role:
    "kernel", "used" or "file".

    left_out: number of lines omitted at the end because the text would be too long (mostly tables of numbers).
    """

    file: str
    first_line: int
    last_line: int
    role: str
    text: str
    left_out: int = 0


@dataclass(frozen=True)
class SourceExcerpts:
    """The excerpts of the source that a prompt can show.

    kernel: the kernel's definition. dependencies: the declarations that it uses, merged by location. external_names: names
    declared outside the folder.
    """

    kernel: Excerpt
    dependencies: tuple[Excerpt, ...]
    whole_file: Excerpt
    external_names: tuple[str, ...]

    def shown(self, full_source: bool) -> tuple[Excerpt, ...]:
        """The kernel and what it uses, or the whole file and what the kernel uses from other files."""
        if not full_source:
            return (self.kernel, *self.dependencies)
        return (self.whole_file, *(excerpt for excerpt in self.dependencies if excerpt.file != self.whole_file.file))

    @property
    def lines(self) -> dict[str, str]:
        """'file:line' -> the line's text, for the kernel and what it uses."""
        return {
            f"{excerpt.file}:{number}": line.strip()
            for excerpt in (self.kernel, *self.dependencies)
            for number, line in enumerate(excerpt.text.split("\n"), excerpt.first_line)
        }


def code_of(source: HipSource, kernel: SourceKernel, scrubber: PathScrubber) -> SourceExcerpts:
    unit = source.device
    own, *used = kernel_and_used_declarations(unit, kernel)
    inside: dict[Path, list[DeclarationText]] = {}
    elsewhere = []
    for piece in used:
        if scrubber.relative(piece.file) is None:
            elsewhere.append(piece.name)
        else:
            inside.setdefault(piece.file, []).append(piece)
    excerpts = [
        _excerpt(scrubber.relative(file), unit.content(file), start, end, "used")
        for file, pieces in sorted(inside.items())
        for start, end in _merged(pieces, own if own.file == file else None)
    ]
    name = scrubber.relative(source.path) or source.path.name
    return SourceExcerpts(
        _excerpt(name, source.text, own.start, own.end, "kernel"),
        tuple(excerpts),
        _excerpt(name, source.text, 0, len(source.text), "file"),
        tuple(sorted(set(filter(None, elsewhere)))),
    )


def _merged(pieces: Sequence[DeclarationText], own: DeclarationText | None) -> list[tuple[int, int]]:
    """The pieces' spans in order, except those inside the kernel's own lines; adjacent spans are merged unless the result would
    be truncated.
    """
    merged: list[tuple[int, int]] = []
    for piece in sorted(pieces):
        if own is not None and own.start <= piece.start and piece.end <= own.end:
            continue
        fits = bool(merged) and piece.end - merged[-1][0] <= _MAX_BYTES
        if merged and (piece.start < merged[-1][1] or (piece.start == merged[-1][1] and fits)):
            merged[-1] = (merged[-1][0], max(merged[-1][1], piece.end))
        else:
            merged.append((piece.start, piece.end))
    return merged


def _excerpt(file: str | None, text: bytes, start: int, end: int, role: str) -> Excerpt:
    first = compiled_line_of(text, start)
    lines = text[start:end].decode(errors="replace").rstrip("\n").split("\n")
    shown = _fitting(lines) if role == "used" else lines
    return Excerpt(file or "", first, first + len(lines) - 1, role, "\n".join(shown), len(lines) - len(shown))


def _fitting(lines: list[str]) -> list[str]:
    """As many lines as fit into _MAX_BYTES, but at least one, which is truncated if necessary."""
    sizes = itertools.accumulate(len(line.encode()) + 1 for line in lines)
    count = max(1, sum(size <= _MAX_BYTES for size in sizes))
    return [lines[0][:_MAX_BYTES], *lines[1:count]]
