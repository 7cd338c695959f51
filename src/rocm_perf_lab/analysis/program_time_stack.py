"""The program's time divided among causes: what each cause costs, found by replaying the dependency graph with the kernel times
that experiments predict in its absence.

This is like a kernel's time stack, but for the GPU's span: the time without a set of causes is the length of the critical path,
recomputed after every kernel with a time stack has been shortened to its time without these causes. Shortening a kernel that is
not on the critical path gains nothing, and shortening one that is on it gains no more than the next path allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rocm_perf_lab.analysis.critical_path import CriticalPath
from rocm_perf_lab.analysis.dag import COPY, KERNEL, RUNTIME, Dag
from rocm_perf_lab.analysis.shapley import MAX_EXACT_CAUSES, sampled_shapley, shapley
from rocm_perf_lab.analysis.thread_trace.time_stack import TimeStack
from rocm_perf_lab.analysis.what_if import GraphReplay

_MIN_GAIN = 0.001  # share of the span: causes whose removal gains less, both alone and after all others, stay in the rest
_MAX_PAIRS, _MIN_PAIRS = 100, 4
_MAX_STEPS = 100_000_000  # nodes of the graph, times the number of replays


@dataclass(frozen=True)
class ProgramPart:
    """ns: the part of the span that belongs to a cause. within_ns: half the width of the 95 % interval if the value is
    estimated from samples, 0 if it is exact. first_ns, last_ns: the gain if the cause is removed before all others and after
    all others, respectively. kernels: the kernels whose stacks contain the cause.
    """

    cause: str
    ns: Fraction
    within_ns: float
    first_ns: int
    last_ns: int
    kernels: tuple[str, ...]


@dataclass(frozen=True)
class ProgramStack:
    """parts (largest first) and rest_ns add up to span_ns. rest_ns: the span without any of the causes. kernels_ns, copies_ns:
    how much of rest_ns is spent in kernels and copies on the path; the remainder is spent in host code, launches and gaps.

    kernels: the kernels whose stacks are combined. orders: how many random orders were drawn; None if the parts are exact.
    causes, without_ns: the causes of the parts, and the span without each set of them, where bit i of the index stands for the
    i-th cause; empty if orders were drawn. dominant: the program's kernel with the most time on the path without any of the
    causes.
    """

    span_ns: int
    parts: tuple[ProgramPart, ...]
    rest_ns: int
    kernels_ns: int
    copies_ns: int
    kernels: tuple[str, ...]
    orders: int | None
    causes: tuple[str, ...]
    without_ns: tuple[int, ...]
    dominant: str | None


def program_stack(stacks: Mapping[str, TimeStack], dag: Dag, path: CriticalPath | None) -> ProgramStack | None:
    """The stack of a program; None without a critical path or if no kernel of the graph has a time stack. stacks: by kernel."""
    if path is None or not path.length_ns:
        return None
    replay = GraphReplay(dag, path)
    known = {name: stack for name, stack in stacks.items() if replay.has(name)}
    return _Combinations(known, replay).stack() if known else None


class _Combinations:
    """Computes the program's span without given sets of causes. A set is a bit mask: bit i stands for the i-th cause."""

    def __init__(self, stacks: Mapping[str, TimeStack], replay: GraphReplay):
        self._stacks, self._replay = stacks, replay
        self._known: dict[frozenset[str], int] = {}
        self._causes = self._noticeable(tuple(dict.fromkeys(name for stack in stacks.values() for name in stack.chosen)))

    def stack(self) -> ProgramStack:
        causes, n = self._causes, len(self._causes)
        all_causes = (1 << n) - 1
        exact = not n or (n <= MAX_EXACT_CAUSES and self._replay.nodes << n <= _MAX_STEPS)
        every = tuple(self._spans(range(1 << n)).values()) if exact else ()
        if exact:
            values, pairs = [(value, 0.0) for value in shapley(every)], None
        else:
            pairs = min(_MAX_PAIRS, max(_MIN_PAIRS, _MAX_STEPS // (2 * n * self._replay.nodes)))
            values = [(estimate.value, estimate.within) for estimate in sampled_shapley(self._spans, n, pairs)]
        spans = self._spans([0, all_causes, *(1 << i for i in range(n)), *(all_causes & ~(1 << i) for i in range(n))])
        parts = [
            ProgramPart(
                cause, value, within, spans[0] - spans[1 << i], spans[all_causes & ~(1 << i)] - spans[all_causes],
                tuple(name for name, stack in self._stacks.items() if cause in stack.chosen),
            )
            for i, (cause, (value, within)) in enumerate(zip(causes, values, strict=True))
        ]  # fmt: skip
        left = self._remaining_shares(frozenset(causes))
        by_kind = self._replay.by_kind(left)
        return ProgramStack(
            span_ns=spans[0],
            parts=tuple(sorted(parts, key=lambda part: (-part.ns, part.cause))),
            rest_ns=spans[all_causes],
            kernels_ns=by_kind.get(KERNEL, 0) + by_kind.get(RUNTIME, 0),
            copies_ns=by_kind.get(COPY, 0),
            kernels=tuple(self._stacks),
            orders=None if pairs is None else 2 * pairs,
            causes=causes if exact else (),
            without_ns=every,
            dominant=self._replay.run(left)[1],
        )

    def _noticeable(self, causes: tuple[str, ...]) -> tuple[str, ...]:
        everything = frozenset(causes)
        sets = [
            frozenset[str](),
            everything,
            *(frozenset({cause}) for cause in causes),
            *(everything - {cause} for cause in causes),
        ]
        span, least, *spans = self._spans_without(sets)
        first, last = spans[: len(causes)], spans[len(causes) :]
        gains = [max(span - alone, without_others - least) for alone, without_others in zip(first, last, strict=True)]
        return tuple(cause for cause, gain in zip(causes, gains, strict=True) if gain > _MIN_GAIN * span)

    def _spans(self, sets: Iterable[int]) -> dict[int, int]:
        wanted = list(sets)
        return dict(zip(wanted, self._spans_without([self._causes_in(removed) for removed in wanted]), strict=True))

    def _causes_in(self, removed: int) -> frozenset[str]:
        return frozenset(cause for i, cause in enumerate(self._causes) if removed >> i & 1)

    def _spans_without(self, sets: Sequence[frozenset[str]]) -> list[int]:
        new = [causes for causes in dict.fromkeys(sets) if causes not in self._known]
        self._known.update(zip(new, self._replay.spans([self._remaining_shares(causes) for causes in new]), strict=True))
        return [self._known[causes] for causes in sets]

    def _remaining_shares(self, causes: frozenset[str]) -> dict[str, float]:
        """For each kernel, the share of its time that is left without the causes."""
        return {name: stack.without(causes) / stack.duration_ns for name, stack in self._stacks.items()}
