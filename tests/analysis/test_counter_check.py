"""Counters that cannot be true are left out, and the reason is given."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocpd_database
from rocm_perf_lab.analysis.counter_check import waves
from rocm_perf_lab.analysis.counters import counters_by_symbol, why_no_counters
from rocm_perf_lab.rocpd.reader import read_trace
from rocm_perf_lab.rocpd.trace import Trace
from rocpd_database import MODELLED, Dispatch


def test_the_waves_of_a_huge_grid_are_counted_without_overflow():
    sizes = (2**31 - 1,) * 3
    launched = waves(Grid("gfx942", sizes, (1, 1, 1)), np.array([0]))
    assert float(launched[0][0]) == pytest.approx(float(2**31 - 1) ** 3)


class Grid:
    """As much of a trace as waves() needs."""

    def __init__(self, target: str, grid: tuple[int, ...], workgroup: tuple[int, ...]):
        self.agents = {1: type("Agent", (), {"target": target})}
        self.dispatches = type("Dispatches", (), {
            "grid": np.array([grid]), "workgroup": np.array([workgroup]), "agent_id": np.array([1])})  # fmt: skip


three = st.tuples(*[st.integers(1, 9)] * 3)


@given(three, three, st.sampled_from([(64, "gfx942"), (32, "gfx1030")]))
def test_the_waves_of_a_grid_are_the_sum_of_those_of_its_workgroups(grid, workgroup, wave):
    size, target = wave
    expected = 0
    for corner in np.ndindex(*(math.ceil(g / w) for g, w in zip(grid, workgroup, strict=True))):
        cut = (min(w, g - w * at) for g, w, at in zip(grid, workgroup, corner, strict=True))
        expected += math.ceil(math.prod(cut) / size)
    assert expected in [int(figures[0]) for figures in waves(Grid(target, grid, workgroup), np.array([0]))]


def trace_of(tmp_path, *counters: dict[str, float], own=None, target="gfx942", name="t.db") -> Trace:
    """Dispatches of one kernel with 1024 work-items each."""
    work = [Dispatch("k", 100 * at, 100 * at + 50, grid=1024, counters={name: [value] for name, value in of.items()})
            for at, of in enumerate(counters)]  # fmt: skip
    return read_trace(rocpd_database.write(tmp_path / name, work, own, target=target))


def of_kernel(base: Trace, *passes: Trace):
    (found,) = counters_by_symbol(base, passes).values()
    return found


@pytest.mark.parametrize(
    "counters, why",
    [
        ({"SQ_WAVES": 0, "SQ_INSTS_VALU": 0}, "SQ_WAVES is 0, and the grid has 16 waves"),
        ({"SQ_WAVES": 32, "SQ_INSTS_VALU": 7}, "SQ_WAVES is 32, and the grid has 16"),
        ({"SQ_ITEMS": 512, "SQ_INSTS_VALU": 7}, "SQ_ITEMS is 512, and the grid has 1024 work-items"),
        ({"GRBM_GUI_ACTIVE": 0, "SQ_INSTS_VALU": 7}, "GRBM_GUI_ACTIVE is 0"),
        ({"SQ_INSTS_VALU": 0, "TCC_HIT_sum": 0}, "every counter of a pass is 0"),
    ],
)
def test_counters_that_contradict_the_grid_are_left_out(tmp_path, counters, why):
    """So are the counters of the other passes, since whatever disturbs one pass can disturb all."""
    base, other = trace_of(tmp_path, {}), trace_of(tmp_path, {"SQ_BUSY_CYCLES": 5}, name="other.db")
    found = of_kernel(base, other, trace_of(tmp_path, counters, name="pass.db"))
    assert not found.values and why in why_no_counters(found) and found.notes == (why_no_counters(found),)


@pytest.mark.parametrize(
    "counters, target, own",
    [
        ({"SQ_WAVES": 16, "SQ_INSTS_VALU": 7}, "gfx942", None),
        ({"SQ_WAVES": 32, "SQ_WAIT_ANY": 7}, "gfx1030", None),
        ({"SQ_WAVES": 16, "SQ_WAIT_ANY": 7}, "gfx1030", None),
        ({"SQ_INSTS_VALU_MFMA_MOPS_F64": 0, "SQ_INSTS_VALU": 1}, "gfx942", None),
        ({"SQ_INSTS_VALU_MFMA_MOPS_F64": 0}, "gfx942", MODELLED),  # on the software device, a counter of 0 is exact
    ],
)
def test_counters_that_can_be_true_are_kept(tmp_path, counters, target, own):
    found = of_kernel(trace_of(tmp_path, counters, own=own, target=target))
    assert found.values == counters and found.notes == () and why_no_counters(found) is None


def test_one_disturbed_dispatch_does_not_affect_the_others(tmp_path):
    good = {"SQ_WAVES": 16, "SQ_INSTS_VALU": 100}
    found = of_kernel(trace_of(tmp_path, good, {"SQ_WAVES": 99, "SQ_INSTS_VALU": 5000}, good, good))
    assert found.values == {"SQ_WAVES": 64, "SQ_INSTS_VALU": 400} and "collected on 3 dispatches" in found.notes[0]
