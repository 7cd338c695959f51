"""Compares runs by the kernels that they loaded (with their resources) and launched (with their workgroups and grids).

Runs of one build load the same kernels with the same resources; with the same input, they also launch the same kernels in the
same shapes. The runtime's own kernels are ignored, since the runtime's choice among its copy kernels depends on addresses.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from rocm_perf_lab.rocpd import validate
from rocm_perf_lab.rocpd.connect import connect, table
from rocm_perf_lab.rocpd.recorded_process import RecordedProcess
from rocm_perf_lab.rocpd.runtime_kernels import NAMES

_RESOURCES = {"arch_vgpr_count": "VGPRs", "accum_vgpr_count": "AGPRs", "sgpr_count": "SGPRs", "private_segment_size": "scratch"}
_SHAPE = [f"{prefix}_size_{axis}" for prefix in ("workgroup", "grid") for axis in "xyz"] + ["group_segment_size"]

Row = tuple[object, ...]


def difference(one: RecordedProcess, other: RecordedProcess) -> str | None:
    """Why two runs cannot be runs of the same build with the same input; None if they can be."""
    if changed := other_build(one, other):
        return changed
    first, second = _read_database(one)[1], _read_database(other)[1]
    if alone := sorted(first.keys() ^ second.keys()):
        return f"only {(one if alone[0] in first else other).label} launched {alone[0]}"
    shapes = (name for name in first if first[name] != second[name])
    return next((f"{name} was launched with different grids, workgroups or LDS" for name in shapes), None)


def other_build(one: RecordedProcess, other: RecordedProcess) -> str | None:
    """How the builds differ: each has a kernel that the other lacks, or a kernel's register counts or scratch sizes differ.
    None if the builds do not differ.

    A run that merely loaded fewer kernels than the other does not count as different: code objects are loaded on demand.
    """
    first, second = _read_database(one)[0], _read_database(other)[0]
    if (alone := first.keys() - second.keys()) and second.keys() - first.keys():
        return f"each has kernels that the other lacks: {min(alone)} is only in {one.label}"
    for name in (name for name in first if name in second):
        pairs = zip(_RESOURCES.values(), first[name], second[name], strict=True)
        if changed := [f"{a} {resource} in one and {b} in the other" for resource, a, b in pairs if a != b]:
            return f"{name} takes {', '.join(changed)}"
    return None


def _read_database(process: RecordedProcess) -> tuple[dict[str, Row], dict[str, frozenset[Row]]]:
    """Two mappings from demangled names: to the resources of all kernels that were loaded, and to the shapes of the kernels
    that were launched.
    """
    path = process.path.resolve()
    return _read_once(path, path.stat().st_mtime_ns, process.suffix)


@lru_cache(maxsize=64)
def _read_once(path: Path, modified: int, suffix: str | None) -> tuple[dict[str, Row], dict[str, frozenset[Row]]]:
    with connect(path, suffix) as connection:
        symbols = connection.execute(
            f"""SELECT id, kernel_name, display_name, {", ".join(_RESOURCES)}
                FROM "{table(connection, "info_kernel_symbol")}" ORDER BY id"""
        ).fetchall()
        shapes = connection.execute(
            f"""SELECT DISTINCT kernel_id, {", ".join(_SHAPE)} FROM "{table(connection, "kernel_dispatch")}\""""
        ).fetchall()
    own = [row for row in symbols if validate.text(row[1]).removesuffix(".kd") not in NAMES]
    names = {id: (validate.text(shown) or validate.text(name)).removesuffix(".kd") for id, name, shown, *_ in own}
    loaded = {names[id]: tuple(numbers) for id, _, _, *numbers in own}
    launched: dict[str, set[Row]] = {}
    for id, *shape in shapes:
        if id in names:
            launched.setdefault(names[id], set()).add(tuple(shape))
    return loaded, {name: frozenset(shapes_of_kernel) for name, shapes_of_kernel in launched.items()}
