"""The claimed gain of a kernel is compared with its times in the program, including their noise."""

from __future__ import annotations

import pytest

from rocm_perf_lab.gate.application.gain_in_program import ClaimedGain, ObservedGain
from rocm_perf_lab.gate.application.program_run import ProgramRun


def runs(*times: float) -> list[ProgramRun]:
    return [ProgramRun(b"", 9.0, None, "measured", None, {}, {"rows": time, "other": 5.0}) for time in times]


def gain(saved: float, before: list[ProgramRun], after: list[ProgramRun], symbol: str = "rows") -> ObservedGain:
    return ObservedGain.of(ClaimedGain(symbol, saved), before, after)


@pytest.mark.parametrize(
    "saved, after, holds",
    [(0.4, [6.0], True), (0.4, [7.9], True), (0.4, [8.1], False), (0.8, [10.0], False), (0.02, [9.89], True)],
)
def test_at_least_half_of_the_claimed_gain_must_be_observed(saved, after, holds):
    assert (gain(saved, runs(10.0, 10.0), runs(*after)).complaint() is None) == holds


def test_noise_counts_in_favour_of_the_candidate():
    assert gain(0.04, runs(9.9, 10.2), runs(10.1, 9.95, 10.0)).complaint() is None
    told = gain(0.4, runs(9.9, 10.2), runs(10.1, 9.95, 10.0)).complaint()
    assert told is not None and "saves 40.00% of the kernel's time when replayed and 0.50% in the program" in told


def test_a_kernel_that_the_program_does_not_launch_gains_nothing():
    assert "no dispatch of the kernel was timed" in (gain(0.4, runs(10.0), runs(5.0), "another").complaint() or "")
