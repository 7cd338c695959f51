"""Another shape of a kernel's launches, as part of a change: which launches of the source it concerns, and what they become.

A shape changes what the host does, so it is taken only if every launch of the kernel is seen and understood, if all of them
follow the same rule before, and the same rule afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rocm_perf_lab.gate.change import LaunchText
from rocm_perf_lab.gate.launch_rule import configuration, words
from rocm_perf_lab.gate.launch_text import NotRead, read_shape
from rocm_perf_lab.hip_source import HipSource, SourceKernel
from rocm_perf_lab.hip_source.edits import Edit, apply_edits
from rocm_perf_lab.hip_source.integer_expression import Expression, arguments_in
from rocm_perf_lab.hip_source.launch_shapes import NotUnderstood, Shape, ShapedLaunch, constants_of, shaped_launches
from rocm_perf_lab.hip_source.launches import launches_in_program

_ONLY = "its launches cannot be changed"


class LaunchRefused(Exception):
    """Why a change of launches is refused, in one sentence."""


@dataclass(frozen=True)
class LaunchChange:
    """before, after: the shape of all launches. edits: of the baseline's text; no line moves. lines: of the launches."""

    before: Shape
    after: Shape
    edits: tuple[Edit, ...]
    lines: tuple[int, ...]

    def applied(self, baseline: HipSource) -> HipSource:
        """The baseline with these launches and nothing else changed."""
        return baseline.with_text(apply_edits(baseline.text, self.edits))

    def __str__(self) -> str:
        return f"<<<{configuration(self.before)}>>> becomes <<<{configuration(self.after)}>>>"


def launch_change(baseline: HipSource, kernel: SourceKernel, changed: Sequence[LaunchText]) -> LaunchChange:
    """The change that the candidate's texts mean. Raises LaunchRefused, SourceError."""
    sites = _sites(baseline, kernel)
    by_place = {(one.start, one.end): one for one in sites}
    texts_at: dict[tuple[int, int], tuple[str, ...]] = {}
    for text in changed:
        if (text.start, text.end) not in by_place:
            raise LaunchRefused(f"it changes the launch of something else than {kernel.name} in line {text.line}")
        texts_at[text.start, text.end] = text.tokens
    constants = constants_of(baseline)
    shapes = {place: _shape_of(baseline, site, texts_at.get(place), constants) for place, site in by_place.items()}
    before, after = {one.shape for one in sites}, set(shapes.values())
    lines = tuple(one.line for one in sites)
    if len(before) > 1 or len(after) > 1:
        which = "differ from each other already" if len(before) > 1 else "would differ from each other"
        raise LaunchRefused(
            f"the launches of {kernel.name} in lines {', '.join(map(str, lines))} {which}: change all of them alike"
        )
    edits = tuple(_edit(baseline, by_place[place], shapes[place]) for place in texts_at)
    return LaunchChange(before.pop(), after.pop(), edits, lines)


def _sites(baseline: HipSource, kernel: SourceKernel) -> list[ShapedLaunch]:
    """All launches of the kernel in the program. Raises LaunchRefused if some may be elsewhere."""
    if baseline.elsewhere or baseline.main != baseline.path:
        raise LaunchRefused(f"{baseline.path.name} is included by other files: {_ONLY}")
    for unit, found in launches_in_program(baseline, kernel):
        where = "" if unit is baseline else f" of {unit.main.name}"
        if found.other_uses:
            line = f"line {found.other_uses[0]}{where}"
            raise LaunchRefused(f"{kernel.name} is referenced without being launched in {line}: {_ONLY}")
        if found.seen and unit is not baseline:
            raise LaunchRefused(f"{kernel.name} is launched in line {found.seen[0].line}{where} as well: {_ONLY}")
    for file in baseline.foreign:
        if re.search(rb"\b%s\b|\d%s" % ((re.escape(kernel.last_name.encode()),) * 2), file.read_bytes()):
            raise LaunchRefused(f"{file.name}, which is not compiled as HIP, names {kernel.name}: {_ONLY}")
    try:
        sites = shaped_launches(baseline, kernel)
    except NotUnderstood as error:
        raise LaunchRefused(f"{error}: {_ONLY}") from error
    if not sites:
        raise LaunchRefused(f"the source does not launch {kernel.name}: {_ONLY}")
    return sites


def _shape_of(
    baseline: HipSource, site: ShapedLaunch, tokens: Sequence[str] | None, constants: Mapping[str, Expression]
) -> Shape:
    """What the launch becomes; what it is if the candidate does not change it."""
    if tokens is None:
        return site.shape
    try:
        shape = read_shape(tokens, {**constants, **site.arguments}, site.stream)
    except NotRead as error:
        raise LaunchRefused(f"its launch in line {site.line} {error}") from error
    used = {argument.name for one in shape.expressions for argument in arguments_in(one)}
    if moving := sorted(used & site.changing):
        raise LaunchRefused(
            f"its launch in line {site.line} uses {moving[0]}, which a call or an assignment in the same launch may change: "
            "make it const"
        )
    return shape


def _edit(baseline: HipSource, site: ShapedLaunch, shape: Shape) -> Edit:
    """In the gate's own words, with as many lines as before."""
    lines = baseline.text.count(b"\n", site.start, site.end)
    return Edit(site.start, site.end, site.written(*words(shape)) + "\n" * lines)
