"""A new shape for a kernel's launches, as part of a change: which launches it affects, and how they are rewritten.

A new shape changes what the host does, so it is accepted only if every launch of the kernel, in all files of the program, is
found and understood, and if all launches follow a single rule before the change and a single rule after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.gate.change import LaunchText
from rocm_perf_lab.gate.source.launch_rule import launch_text, shape_in_source
from rocm_perf_lab.gate.source.launch_shape_reader import UnreadableShapeError, read_shape
from rocm_perf_lab.hip_source import HipSource, SourceKernel
from rocm_perf_lab.hip_source.edits import Edit
from rocm_perf_lab.hip_source.integer_expression import arguments_in
from rocm_perf_lab.hip_source.launch_shapes import LaunchNotUnderstoodError, Shape, ShapedLaunch
from rocm_perf_lab.hip_source.program_launches import by_file, program_launches

_CANNOT_CHANGE = "its launches cannot be changed"


class LaunchRefusedError(Exception):
    """Why a change of launches is refused, in one sentence."""


@dataclass(frozen=True)
class LaunchChange:
    """A new shape for all launches of a kernel. before, after: the shapes. edits: edits to the baseline's text; no line number
    changes. edits_elsewhere: edits to other files, keyed by real path. lines: line numbers of the launches in the baseline's
    own file; files: the names of the other files.
    """

    before: Shape
    after: Shape
    edits: tuple[Edit, ...]
    edits_elsewhere: tuple[tuple[Path, Edit], ...]
    lines: tuple[int, ...]
    files: tuple[str, ...]

    def applied_to(self, baseline: HipSource) -> HipSource:
        """The baseline with these launches and nothing else changed."""
        return baseline.edited(self.edits, self.edits_elsewhere)

    def __str__(self) -> str:
        return f"<<<{launch_text(self.before)}>>> becomes <<<{launch_text(self.after)}>>>"


def launch_change(baseline: HipSource, kernel: SourceKernel, changed: Sequence[LaunchText]) -> LaunchChange:
    """The change that the candidate's launch texts express. Raises LaunchRefusedError, SourceError."""
    try:
        sites = program_launches(baseline, kernel)
    except LaunchNotUnderstoodError as error:
        raise LaunchRefusedError(f"{error}: {_CANNOT_CHANGE}") from error
    own = baseline.path.resolve()
    by_span = {(site.file, site.start, site.end): site for site in sites}
    texts_at: dict[tuple[Path, int, int], tuple[str, ...]] = {}
    for text in changed:
        span = (text.file or own, text.start, text.end)
        if span not in by_span:
            where = f" of {text.file.name}" if text.file else ""
            raise LaunchRefusedError(f"it changes the launch of something other than {kernel.name} in line {text.line}{where}")
        texts_at[span] = text.tokens
    shapes = {span: _shape_of(site, texts_at.get(span), own) for span, site in by_span.items()}
    before, after = {site.shape for site in sites}, set(shapes.values())
    if len(before) > 1 or len(after) > 1:
        which = "differ from each other already" if len(before) > 1 else "would differ from each other"
        raise LaunchRefusedError(f"the launches of {kernel.name} in {_lines(sites, own)} {which}: change all of them alike")
    edits = [(span[0], _edit(baseline, by_span[span], shapes[span])) for span in texts_at]
    own_edits, other_edits = by_file(baseline, edits)
    lines = tuple(site.line for site in sites if site.file == own)
    files = tuple(dict.fromkeys(site.file.name for site in sites if site.file != own))
    return LaunchChange(before.pop(), after.pop(), tuple(own_edits), tuple(other_edits), lines, files)


def _lines(sites: Sequence[ShapedLaunch], own: Path) -> str:
    """The lines in words, for example `lines 3, 9 and line 4 of main.hip`."""
    own_lines = ", ".join(str(site.line) for site in sites if site.file == own)
    other_lines = [f"line {site.line} of {site.file.name}" for site in sites if site.file != own]
    return " and ".join([*([f"lines {own_lines}"] if own_lines else []), *other_lines])


def _shape_of(site: ShapedLaunch, tokens: Sequence[str] | None, own: Path) -> Shape:
    """The launch's new shape, or its current shape if the candidate does not change it."""
    if tokens is None:
        return site.shape
    where = f"its launch in line {site.line}" + (f" of {site.file.name}" if site.file != own else "")
    try:
        shape = read_shape(tokens, {**site.constants, **site.arguments}, site.stream)
    except UnreadableShapeError as error:
        raise LaunchRefusedError(f"{where} {error}") from error
    used = {argument.name for expression in shape.expressions for argument in arguments_in(expression)}
    if moving := sorted(used & site.changing):
        raise LaunchRefusedError(
            f"{where} uses {moving[0]}, which a call or an assignment in the same launch may change: make it const"
        )
    return shape


def _edit(baseline: HipSource, site: ShapedLaunch, shape: Shape) -> Edit:
    """The edit that writes the shape in the gate's own words, on as many lines as before."""
    lines = baseline.content(site.file).count(b"\n", site.start, site.end)
    return Edit(site.start, site.end, site.replacement_text(*shape_in_source(shape)) + "\n" * lines)
