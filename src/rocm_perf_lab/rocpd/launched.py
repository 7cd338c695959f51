"""What a run launched: kernels with their resources, workgroups and grids. Runs of one build with one input launch the same."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from rocm_perf_lab.rocpd import check
from rocm_perf_lab.rocpd.connect import connect, table
from rocm_perf_lab.rocpd.origin import Origin
from rocm_perf_lab.rocpd.runtime_kernels import NAMES

_OF_KERNEL = {"arch_vgpr_count": "VGPRs", "accum_vgpr_count": "AGPRs", "sgpr_count": "SGPRs", "private_segment_size": "scratch"}
_OF_DISPATCH = [f"{what}_size_{axis}" for what in ("workgroup", "grid") for axis in "xyz"] + ["group_segment_size"]

Launched = dict[str, tuple[tuple[object, ...], frozenset[tuple[object, ...]]]]


def difference(one: Origin, other: Origin) -> str | None:
    """In which way two runs cannot be of one build with one input; None if they can. Helpers of the runtime do not count."""
    first, second = launched(one), launched(other)
    alone = sorted(first.keys() ^ second.keys())
    if alone:
        return f"only {(one if alone[0] in first else other).path} launched {alone[0]}"
    if changed := other_resources(one, other):
        return changed
    shapes = (name for name in first if first[name][1] != second[name][1])
    return next((f"{name} was launched with other grids, workgroups or LDS" for name in shapes), None)


def other_resources(one: Origin, other: Origin) -> str | None:
    """Which kernel that both launched takes other registers or scratch, so that the builds differ; None if none does."""
    first, second = launched(one), launched(other)
    for name in (name for name in first if name in second):
        pairs = zip(_OF_KERNEL.values(), first[name][0], second[name][0], strict=True)
        if changed := [f"{a} {what} in one and {b} in the other" for what, a, b in pairs if a != b]:
            return f"{name} takes {', '.join(changed)}"
    return None


def launched(origin: Origin) -> Launched:
    """Name -> (resources, the different shapes in which it was dispatched)."""
    path = origin.path.resolve()
    return _launched(path, path.stat().st_mtime_ns, origin.suffix)


@lru_cache(maxsize=64)
def _launched(path: Path, modified: int, suffix: str | None) -> Launched:
    with connect(path, suffix) as connection:
        rows = connection.execute(
            f"""SELECT s.kernel_name, {", ".join(f"s.{name}" for name in _OF_KERNEL)}, d.*
                FROM (SELECT kernel_id, {", ".join(_OF_DISPATCH)} FROM "{table(connection, "kernel_dispatch")}"
                      GROUP BY kernel_id, {", ".join(_OF_DISPATCH)}) d
                JOIN "{table(connection, "info_kernel_symbol")}" s ON s.id = d.kernel_id"""
        ).fetchall()
    found: dict[str, tuple[tuple[object, ...], set[tuple[object, ...]]]] = {}
    for name, *values in rows:
        name = check.text(name).removesuffix(".kd")
        if name not in NAMES:
            found.setdefault(name, (tuple(values[: len(_OF_KERNEL)]), set()))[1].add(tuple(values[len(_OF_KERNEL) + 1 :]))
    return {name: (resources, frozenset(shapes)) for name, (resources, shapes) in sorted(found.items())}
