"""Selects which of the tried cases are used for timing and for the race check."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from rocm_perf_lab.gate.equivalence.perturbation import NEARBY, PREFERRED, SPARSE, Perturbation
from rocm_perf_lab.gate.equivalence.tried_case import TriedCase
from rocm_perf_lab.gate.measurement.timed_replays import OtherInputs

_COMPARABLE = 0.5  # fraction of the baseline's time on the captured inputs
_AT_WORK = 0.25  # the fraction of that time below which a race is unlikely to show
_MOST_TIMED = 4  # other inputs; each costs a replay of every candidate
_MOST_THOROUGH = 32  # cases that change all numbers in memory
_MOST_RACED = 24  # cases that change a number passed by value; each costs a replay in a different order, on one host thread


def timed_inputs(usable: Sequence[TriedCase]) -> list[OtherInputs]:
    """Other inputs for the time measurement. Within the limit of _MOST_TIMED cases, they change every input for which there is
    a suitable case; otherwise, a kernel that recognises certain inputs could be fast on those alone.

    usable: the captured inputs, then cases on which the baseline works. The result starts with a case that moves the captured
    values to other places, which suits any kernel. Cases with nearby values follow: for all inputs at once or, failing that,
    for one input at a time.
    """
    chosen = [one for one in _most_like_captured(usable) if one.fields][:1]
    seen: frozenset[str] = frozenset()
    for tried in usable:
        one = tried.perturbation
        if one and _is_nearby(one) and not one.inputs <= seen and not is_too_little_work(tried, usable[0]):
            chosen.append(one)
            seen |= one.inputs
    return [OtherInputs(one.name, one.overlays) for one in chosen[:_MOST_TIMED]]


def raced_cases(usable: Sequence[TriedCase], seed: int) -> list[TriedCase]:
    """Cases for the race check. Some change most numbers in memory at once. Each of the others changes a single number passed
    by value: first one case per number, chosen by the seed, then further cases up to a limit. If fewer inputs were checked, a
    kernel could confine its races to the unchecked ones.

    usable: as in timed_inputs().
    """
    chosen = [one for one in usable if one.perturbation and _is_thorough(one.perturbation)][:_MOST_THOROUGH]
    by_number = _by_number(usable)
    random = np.random.default_rng([seed, zlib.crc32(b"raced")])
    first: list[TriedCase] = []
    rest: list[TriedCase] = []
    for name in random.permutation(list(by_number)):
        cases = by_number[name]
        at_work = [one for one in cases if _share_of_time(one, usable[0]) >= _AT_WORK] or cases
        first.append(at_work[int(random.integers(len(at_work)))])
        rest += [one for one in cases if one is not first[-1]]
    return [*chosen, *[*first, *(rest[which] for which in random.permutation(len(rest)))][:_MOST_RACED]]


def _by_number(usable: Sequence[TriedCase]) -> dict[str, list[TriedCase]]:
    """For each number passed by value, the cases that change it alone. Sizes that may make a kernel access memory outside its
    buffers are left out, because they may also make it read LDS that nothing has written.
    """
    found: dict[str, list[TriedCase]] = {}
    for tried in usable:
        one = tried.perturbation
        if one and len(one.numbers) == 1 and not one.fields and not one.beyond:
            found.setdefault(one.numbers[0], []).append(tried)
    return found


def is_too_little_work(one: TriedCase, captured: TriedCase) -> bool:
    """Whether a case with nearby values leaves the baseline so little to do that a candidate's gain may not show. The result is
    False for other cases, which are not meant to be timed.
    """
    return one.perturbation is not None and _is_nearby(one.perturbation) and _share_of_time(one, captured) < _COMPARABLE


def _is_thorough(one: Perturbation) -> bool:
    """Whether most numbers in memory are replaced by values of one kind."""
    return one.kind is not None and one.kind not in SPARSE and not one.on_results and not one.beyond


def _is_nearby(one: Perturbation) -> bool:
    return one.name.startswith(NEARBY)


def _share_of_time(one: TriedCase, captured: TriedCase) -> float:
    """The baseline's time on a case as a fraction of its time on the captured inputs; 1 if either time is unknown."""
    time, usual = one.outcome.gpu_ms, captured.outcome.gpu_ms
    return time / usual if time is not None and usual else 1.0


def _most_like_captured(usable: Sequence[TriedCase]) -> Iterator[Perturbation]:
    by_name = {one.name: one.perturbation for one in usable if one.perturbation}
    return (by_name[name] for name in PREFERRED if name in by_name)
