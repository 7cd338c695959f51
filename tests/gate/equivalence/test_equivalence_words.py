"""What the equivalence step says of the replays, without any."""

from __future__ import annotations

import pytest

from rocm_perf_lab.gate.equivalence.equivalence_check import EquivalenceCheck
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.verdict_document import CandidateLaunch, CapturedLaunch

SIZES = "judged at 256 threads in groups of 64"


def launch(*outcomes: str, arguments=None, grid=(256, 1, 1), workgroup=(64, 1, 1), other=None) -> CapturedLaunch:
    cases = {f"case {number}": outcome for number, outcome in enumerate(outcomes)}
    return CapturedLaunch(
        arguments=arguments, dispatch=0, grid=[*grid], workgroup=[*workgroup], candidate_launch=other, cases=cases
    )


def words(captures, unproven=(), computes=True, **options) -> str:
    return EquivalenceCheck((), None, None, None, EquivalenceOptions(**options))._in_words(captures, unproven, computes)


@pytest.mark.parametrize(
    "unproven, said",
    [((), ""), (["`n`"], "; unproven: `n`"), (["`n`", "`m`"], "; unproven: `n`, `m`")],
)
def test_what_is_unproven_is_named_if_there_is_something(unproven, said):
    exact = "bit for bit except for the signs of NaNs"
    assert words([launch("equal", "differs", "equal"), launch("equal", "no race")], unproven) == (
        f"the same memory in all 3 cases, {exact}; {SIZES}{said}"
    )


@pytest.mark.parametrize(
    "options, computes, said",
    [
        ({}, True, "bit for bit except for the signs of NaNs"),
        ({}, False, "bit for bit"),
        ({"ulps": 4}, False, "floating-point numbers within 4 ULP"),
        ({"level": "sampled"}, False, "bit for bit (level sampled: one dispatch, no other orders of waves)"),
    ],
)
def test_how_exactly_it_was_compared(options, computes, said):
    assert words([launch("equal")], (), computes, **options) == f"the same memory in all 1 cases, {said}; {SIZES}"


def test_each_size_is_named_once():
    other = CandidateLaunch(grid=[128, 2, 1], workgroup=[128, 1, 1], dynamic_lds=0)
    captures = [launch("equal")] * 2 + [
        launch(arguments="-n 4"),
        launch(grid=(1, 8, 1), workgroup=(1, 1, 4)),
        launch(other=other),
    ]
    assert words(captures, (), False).partition("judged at ")[2] == (
        "256 threads in groups of 64, 256 threads in groups of 64 (`-n 4`), 1 x 8 threads in groups of 1 x 1 x 4, "
        "256 threads in groups of 64 (the candidate's 128 x 2 in groups of 128)"
    )
