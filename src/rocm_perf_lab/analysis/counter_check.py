"""Checks counters for plausibility against the launches recorded in the trace.

On real machines, counters are wrong if the driver does not provide them (as on virtual functions), if another profiler or
another program is using the GPU, or if the GPU could not be locked. They are then zero or include the work of other programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.rocpd.trace import Trace

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Floats, Integers, Mask

_TOLERANCE = 0.01  # a few waves of the desktop on top of the kernel's own do no harm
_WAVES, _ITEMS = "SQ_WAVES", "SQ_ITEMS"
_NEVER_ZERO = ("SQ_WAVE_CYCLES", "SQ_BUSY_CYCLES", "SQ_BUSY_CU_CYCLES", "GRBM_GUI_ACTIVE", "GRBM_COUNT")


def contradiction(trace: Trace, rows: Integers) -> tuple[Mask, str]:
    """A mask, (n,) bool, of the dispatches `rows` whose counters cannot be right, and the first reason found."""
    wrong, why = np.zeros(len(rows), bool), ""
    if _WAVES in trace.counters:
        wrong, why = _add(wrong, why, *_mismatches(trace.counters[_WAVES][rows], waves(trace, rows), _WAVES, "waves"))
    if _ITEMS in trace.counters:
        wrong, why = _add(wrong, why, *_mismatches(trace.counters[_ITEMS][rows], [items(trace, rows)], _ITEMS, "work-items"))
    for name in _NEVER_ZERO:
        if name in trace.counters:
            wrong, why = _add(wrong, why, trace.counters[name][rows] == 0, f"{name} is 0 for work that ran")
    return wrong, why


def is_all_zero(trace: Trace) -> bool:
    """Whether counters were collected on real hardware but none of them ever counted anything."""
    return bool(trace.counters) and not trace.process.is_modelled and all(
        not np.any(np.nan_to_num(column)) for column in trace.counters.values()
    )  # fmt: skip


def items(trace: Trace, rows: Integers) -> Floats:
    """The work-item count of each dispatch, (n,) float64, because the product of three 31-bit sizes can exceed an int64."""
    product: Floats = trace.dispatches.grid[rows].astype(np.float64).prod(axis=1)
    return product


def waves(trace: Trace, rows: Integers) -> list[Floats]:
    """Wave counts possible for each dispatch, one (n,) float64 array per wave size; from gfx10 on, kernels choose the size."""
    gfx9 = [id for id, agent in trace.agents.items() if agent.target.startswith("gfx9")]
    of_gfx9 = np.isin(trace.dispatches.agent_id[rows], gfx9)
    by_64, by_32 = _waves_of(trace, rows, 64), _waves_of(trace, rows, 32)
    return [by_64, np.where(of_gfx9, by_64, by_32)]


def _waves_of(trace: Trace, rows: Integers, size: int) -> Floats:
    """The wave count of each dispatch, (n,) float64. A workgroup cut off by an edge of the grid can have fewer waves."""
    grid, group = (sizes[rows].astype(np.float64) for sizes in (trace.dispatches.grid, trace.dispatches.workgroup))
    group = np.maximum(group, 1)
    full_groups, cut_size = np.divmod(grid, group)
    total = np.zeros(len(rows))
    for corner in np.ndindex(2, 2, 2):
        is_cut = np.array(corner, bool)
        number = np.where(is_cut, cut_size > 0, full_groups).prod(axis=1)
        total += number * -(-np.where(is_cut, cut_size, group).prod(axis=1) // size)
    return total


def _mismatches(counted: Floats, figures: list[Floats], name: str, of_what: str) -> tuple[Mask, str]:
    """A mask of where `counted` matches none of the figures, and the first mismatch in words; "" if there is none."""
    wrong = ~np.isnan(counted)
    for launched in figures:
        wrong &= np.abs(counted - launched) > _TOLERANCE * launched
    if not wrong.any():
        return wrong, ""
    first = int(np.argmax(wrong))
    return wrong, f"{name} is {counted[first]:.0f}, and the grid has {figures[0][first]:.0f} {of_what}"


def _add(wrong: Mask, why: str, more: Mask, reason: str) -> tuple[Mask, str]:
    return wrong | more, why or (reason if more.any() else "")
