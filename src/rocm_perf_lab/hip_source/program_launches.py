"""All launches of a kernel in a program, whichever files contain them: a shape can be changed only if all are found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from rocm_perf_lab.hip_source.edits import Edit
from rocm_perf_lab.hip_source.launch_shapes import LaunchNotUnderstoodError, ShapedLaunch, shaped_launches
from rocm_perf_lab.hip_source.launch_sites import launch_sites_by_unit
from rocm_perf_lab.hip_source.source import HipSource
from rocm_perf_lab.hip_source.source_parts import SourceKernel


def program_launches(source: HipSource, kernel: SourceKernel) -> list[ShapedLaunch]:
    """The launches in all units, sorted by file and position. Raises SourceError, and LaunchNotUnderstoodError if a launch may
    have been missed or is not understood.
    """
    shaped: dict[tuple[Path, int], ShapedLaunch] = {}
    for unit, launches in launch_sites_by_unit(source, kernel):
        if launches.other_uses:
            where = "" if unit is source else f" of {unit.main.name}"
            raise LaunchNotUnderstoodError(
                f"{kernel.name} is referenced without being launched in line {launches.other_uses[0]}{where}"
            )
        for launch in shaped_launches(unit.host, kernel, source.path):
            if (
                shaped.setdefault((launch.file, launch.start), launch) != launch
            ):  # a header's text may have a different meaning in each unit
                raise LaunchNotUnderstoodError(
                    f"the launch in line {launch.line} of {launch.file.name} has different shapes in different units"
                )
    for file in source.foreign:
        if re.search(rb"\b%s\b|\d%s" % ((re.escape(kernel.last_name.encode()),) * 2), file.read_bytes()):
            raise LaunchNotUnderstoodError(f"{file.name}, which is not compiled as HIP, names {kernel.name}")
    if not shaped:
        raise LaunchNotUnderstoodError(f"the source does not launch {kernel.name}")
    return [shaped[position] for position in sorted(shaped)]


def by_file(source: HipSource, edits: Sequence[tuple[Path, Edit]]) -> tuple[list[Edit], list[tuple[Path, Edit]]]:
    """The edits to the source's own file, and those to other files."""
    own = source.path.resolve()
    return [edit for file, edit in edits if file == own], [(file, edit) for file, edit in edits if file != own]
