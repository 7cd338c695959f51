"""Which of the other inputs are timed, and which run under the race check."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from rocm_perf_lab.gate.equivalence.baseline_case import BaselineCase
from rocm_perf_lab.gate.equivalence.perturbation import NEARBY, Perturbation
from rocm_perf_lab.gate.equivalence.timed_and_race_checked_cases import raced_cases, timed_inputs
from rocm_perf_lab.replaying import Case, CaseOutcome


def tried(name: str, ms: float | None, *fields: str, **changed) -> BaselineCase:
    """fields: the parameters whose content changes."""
    places = tuple(SimpleNamespace(group=group) for group in fields)
    one = None if name == "captured" else Perturbation(name, ((0, name.encode()),), fields=places, **changed)
    return BaselineCase(name, Case(), one, CaseOutcome(Path(), ms, None))


CAPTURED = tried("captured", 4.0)


def test_races_are_checked_on_inputs_with_enough_work():
    """The times stand for the amount of work, compared with the captured inputs and not with the first of the other inputs."""
    cases = [
        CAPTURED,
        tried("shuffled", 0.1, "in", kind="shuffled"),
        tried("zeros", 0.1, "in", kind="zeros"),
        tried("one of the numbers changed", 4.0, "in", kind="one of the numbers changed"),
        tried(NEARBY, 4.0, "in", kind=NEARBY),
        tried("n = 1", 0.99, numbers=("n",)),
        tried("n = 2", 1.0, numbers=("n",)),
        tried("m = 0", 0.2, numbers=("m",)),
        tried("m = 999", 9.0, numbers=("m",), may_leave_buffers=True),
        tried("n = 3, m = 3", 4.0, numbers=("n", "m")),
    ]
    for seed in range(8):
        names = [one.name for one in raced_cases(cases, seed)]
        assert names[:3] == ["shuffled", "zeros", NEARBY]
        assert sorted(names[3:5]) == ["m = 0", "n = 2"] and names[5:] == ["n = 1"]


def test_a_limited_number_of_cases_is_race_checked_and_the_seed_selects_them():
    """Each number is race-checked once before any is checked again."""
    cases = [CAPTURED, *(tried(f"n{n % 12} = {n}", 4.0, numbers=(f"n{n % 12}",)) for n in range(48))]
    drawn = [[one.name for one in raced_cases(cases, seed)] for seed in range(9)]
    assert {len(names) for names in drawn} == {24} and len({frozenset(names) for names in drawn}) > 1
    assert all(len({name.split()[0] for name in names[:12]}) == 12 for names in drawn)


def test_timed_inputs_change_every_parameter_once():
    cases = [
        CAPTURED,
        tried("zeros", 4.0, "in"),
        tried("observed range", 4.0, "in", "weight"),
        tried(f"{NEARBY} of in", 1.9, "in"),  # less than half of the work
        tried(f"{NEARBY} of weight", 2.0, "weight"),
        tried(f"{NEARBY} of weight again", 4.0, "weight"),
        tried(f"{NEARBY} of n", 4.0, numbers=("n",)),
    ]
    chosen = timed_inputs(cases)
    assert [one.name for one in chosen] == ["observed range", f"{NEARBY} of weight", f"{NEARBY} of n"]
    assert chosen[0].overlays == ((0, b"observed range"),)
    assert [one.name for one in timed_inputs([CAPTURED, tried("n = 1", 4.0, numbers=("n",))])] == []


def test_at_most_four_inputs_are_timed():
    cases = [CAPTURED, *(tried(f"{NEARBY} of {name}", 4.0, name) for name in "abcdef")]
    assert [one.name[-1] for one in timed_inputs(cases)] == ["a", "b", "c", "d"]
