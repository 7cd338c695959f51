"""Evidence for bottlenecks: what it is made of, and why it is missing."""

from __future__ import annotations

import types

import pytest

from rocm_perf_lab.analysis.evidence import _compute_fraction, _greatest, _life, _memory_side
from rocm_perf_lab.analysis.roofline import NO_TIME
from rocm_perf_lab.arch.metric import Value

UNKNOWN = Value.missing("ns", "no counters")


def roofline(compute: Value = UNKNOWN, ns: int = 0, position: str | None = None, ceiling: Value = UNKNOWN):
    return types.SimpleNamespace(compute_ns=compute, time_ns=ns, position=position, ceiling_ns=ceiling)


@pytest.mark.parametrize(
    "given, value, reason",
    [
        (roofline(Value(25.0, "ns"), 100), 0.25, None),
        (roofline(UNKNOWN, 100), None, "no counters"),
        (roofline(Value(25.0, "ns")), None, NO_TIME),
        (roofline(), None, f"no counters; {NO_TIME}"),
    ],
)
def test_the_share_of_its_time_that_a_kernel_computes(given, value, reason):
    found = _compute_fraction(given)
    assert (found.value, found.reason) == (value, reason)


@pytest.mark.parametrize(
    "given, value, reason",
    [
        (roofline(position="memory-bound"), 1.0, None),
        (roofline(position="compute-bound"), 0.0, None),
        (roofline(), None, "no counters"),
        (roofline(ceiling=Value(1.0, "ns")), None, "it counts no operations and moves no bytes"),
    ],
)
def test_the_side_of_the_ridge(given, value, reason):
    found = _memory_side(given)
    assert (found.value, found.reason) == (value, reason)


def test_the_greatest_of_several_is_only_known_if_all_are():
    values = {"a": Value(0.25, "fraction"), "b": Value(0.5, "fraction"), "c": UNKNOWN}
    assert _greatest(values, ("a", "b")).value == 0.5
    assert (_greatest(values, ("a", "c")).value, _greatest(values, ("a", "c")).reason) == (None, "no counters")
    assert _greatest(values, ("a", "d")).value is None
    assert _greatest({}, ("d",)).reason == "no counters are known for it"


@pytest.mark.parametrize(
    "cycles, waves, rounds, value, reason",
    [
        (8000.0, 4.0, 2.0, 2000.0, None),
        (8000.0, 4.0, 1.9, None, "all waves start at once, or nearly: their start-up is paid for only once"),
        (0.0, 4.0, 2.0, None, "no waves were counted"),
        (8000.0, 0.0, 2.0, None, "no waves were counted"),
        (8000.0, None, 2.0, None, "no such counter is known"),
    ],
)
def test_the_life_of_a_wave(cycles, waves, rounds, value, reason):
    names = {"wave_cycles": cycles, "waves": waves, "rounds_of_waves": rounds}
    found = _life({name: Value(number, "cycles") for name, number in names.items() if number is not None})
    assert (found.value, found.reason) == (value, reason)
