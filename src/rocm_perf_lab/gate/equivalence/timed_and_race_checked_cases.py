"""Selects which of the tried cases are used for timing and for the race check."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from rocm_perf_lab.gate.equivalence.baseline_case import BaselineCase
from rocm_perf_lab.gate.equivalence.perturbation import NEARBY, PREFERRED, SPARSE, Perturbation
from rocm_perf_lab.gate.measurement.timed_replays import OtherInputs

_MIN_TIMED_SHARE = 0.5  # fraction of the baseline's time on the captured inputs
_MIN_RACED_SHARE = 0.25  # the fraction of that time below which a race is unlikely to show
_MAX_TIMED_CASES = 4  # other inputs; each costs a replay of every candidate
_MAX_THOROUGH_CASES = 32  # cases that change all numbers in memory
_MAX_RACED_CASES = 24  # cases that change a number passed by value; each costs a replay in another order, on one host thread


def timed_inputs(usable: Sequence[BaselineCase]) -> list[OtherInputs]:
    """Other inputs for the time measurement. Within the limit of _MAX_TIMED_CASES cases, they change every input for which
    there is a suitable case; otherwise, a kernel that recognises certain inputs could be fast on those alone.

    usable: the captured inputs, then cases on which the baseline works. The result starts with a case that moves the captured
    values to other places, which suits any kernel. Cases with nearby values follow: for all inputs at once or, failing that,
    for one input at a time.
    """
    chosen = [perturbation for perturbation in _most_like_captured(usable) if perturbation.fields][:1]
    seen: frozenset[str] = frozenset()
    for case in usable:
        perturbation = case.perturbation
        if (
            perturbation
            and _is_nearby(perturbation)
            and not perturbation.inputs <= seen
            and not is_too_little_work(case, usable[0])
        ):
            chosen.append(perturbation)
            seen |= perturbation.inputs
    return [OtherInputs(perturbation.name, perturbation.overlays) for perturbation in chosen[:_MAX_TIMED_CASES]]


def raced_cases(usable: Sequence[BaselineCase], seed: int) -> list[BaselineCase]:
    """Cases for the race check. Some change most numbers in memory at once. Each of the others changes a single number passed
    by value: first one case per number, chosen by the seed, then further cases up to a limit. If fewer inputs were checked, a
    kernel could confine its races to the unchecked ones.

    usable: as in timed_inputs().
    """
    chosen = [case for case in usable if case.perturbation and _is_thorough(case.perturbation)][:_MAX_THOROUGH_CASES]
    by_number = _cases_by_number(usable)
    random = np.random.default_rng([seed, zlib.crc32(b"raced")])
    first: list[BaselineCase] = []
    remaining: list[BaselineCase] = []
    for name in random.permutation(list(by_number)):
        cases = by_number[name]
        at_work = [case for case in cases if _share_of_time(case, usable[0]) >= _MIN_RACED_SHARE] or cases
        first.append(at_work[int(random.integers(len(at_work)))])
        remaining += [case for case in cases if case is not first[-1]]
    return [*chosen, *[*first, *(remaining[which] for which in random.permutation(len(remaining)))][:_MAX_RACED_CASES]]


def _cases_by_number(usable: Sequence[BaselineCase]) -> dict[str, list[BaselineCase]]:
    """For each number passed by value, the cases that change it alone. Sizes that may make a kernel access memory outside its
    buffers are left out, because they may also make it read LDS that nothing has written.
    """
    by_number: dict[str, list[BaselineCase]] = {}
    for case in usable:
        perturbation = case.perturbation
        if perturbation and len(perturbation.numbers) == 1 and not perturbation.fields and not perturbation.may_leave_buffers:
            by_number.setdefault(perturbation.numbers[0], []).append(case)
    return by_number


def is_too_little_work(case: BaselineCase, captured: BaselineCase) -> bool:
    """Whether a case with nearby values leaves the baseline so little to do that a candidate's gain may not show. The result is
    False for other cases, which are not meant to be timed.
    """
    return case.perturbation is not None and _is_nearby(case.perturbation) and _share_of_time(case, captured) < _MIN_TIMED_SHARE


def _is_thorough(perturbation: Perturbation) -> bool:
    """Whether most numbers in memory are replaced by values of one kind."""
    return (
        perturbation.kind is not None
        and perturbation.kind not in SPARSE
        and not perturbation.on_results
        and not perturbation.may_leave_buffers
    )


def _is_nearby(perturbation: Perturbation) -> bool:
    return perturbation.name.startswith(NEARBY)


def _share_of_time(case: BaselineCase, captured: BaselineCase) -> float:
    """The baseline's time on a case as a fraction of its time on the captured inputs; 1 if either time is unknown."""
    time, usual = case.outcome.gpu_ms, captured.outcome.gpu_ms
    return time / usual if time is not None and usual else 1.0


def _most_like_captured(usable: Sequence[BaselineCase]) -> Iterator[Perturbation]:
    by_name = {case.name: case.perturbation for case in usable if case.perturbation}
    return (by_name[name] for name in PREFERRED if name in by_name)
