"""What the GPU's span would be if kernels took less time, found by replaying the graph.

As in critical_path, a node starts when the last of its predecessors is ready, plus the node's observed delay; only the
durations of some kernels differ. The critical path can thus change, which the ceiling from Amdahl's law does not account for.
Delays stay as observed, although a node's delay might differ if a different predecessor is ready last. Host code does not
change either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.analysis.critical_path import CriticalPath, SymbolOnPath, dominant_symbol, walk_back
from rocm_perf_lab.analysis.dag import KERNEL, RUNTIME, Dag
from rocm_perf_lab.kernel_pattern import fits
from rocm_perf_lab.lazy_jit import MIN_COMPILED_ELEMENTS, lazy_jit
from rocm_perf_lab.rocpd.trace import Edges

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Floats, Integers

_LAUNCH = Edges.LAUNCH
_KERNELS = (KERNEL, RUNTIME)
_TRIED_KERNELS = 3
_TRIED_FACTORS = (2.0, None)
# A shift of dominance is first bracketed between two adjacent factors from this list.
_GRID = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
_PRECISION = 1.02
_ROOM = 4_000_000  # at most this many nodes times scenarios run side by side: each node takes 16 bytes per scenario


@dataclass(frozen=True)
class Speedup:
    """Makes each kernel whose name matches `pattern` `factor` times as fast."""

    pattern: str
    factor: float


@dataclass(frozen=True)
class Scenario:
    """pattern: as requested; None if the scenario was not requested. factor: None for kernels that take no time.

    span_ns: the GPU's span in this scenario. speedup: how many times shorter the span is. dominant: the program's kernel with
    the most time on the new path; fraction: its share of that path. dominant is None if no kernel of the program has time on
    the path.
    """

    kernels: tuple[str, ...]
    pattern: str | None
    factor: float | None
    span_ns: int
    speedup: float | None
    dominant: str | None
    fraction: float


@dataclass(frozen=True)
class DominanceShift:
    """factor, then: how many times faster `kernel` must become (to within 2 %) for a different kernel to dominate, and
    which one; both None if none does for any factor up to the largest in _GRID.
    """

    kernel: str
    factor: float | None
    then: str | None


def what_if(
    dag: Dag, path: CriticalPath, wanted: Sequence[Speedup], mangled: Mapping[str, str] = MappingProxyType({})
) -> tuple[list[Scenario], DominanceShift | None]:
    """The requested scenarios, followed by scenarios for the first few of the program's kernels on the path, each on its own;
    also the shift of dominance away from the dominant kernel, or None if that kernel is not the program's own.

    mangled: demangled -> mangled name. A pattern that matches no kernel changes nothing.
    """
    replay = GraphReplay(dag, path)
    scenarios = [replay.scenario_for(speedup, mangled) for speedup in wanted]
    own = [symbol for symbol in path.symbols if _is_kernel(symbol) and symbol.critical_path_ns]
    for symbol in own[:_TRIED_KERNELS]:
        scenarios += [replay.scenario((symbol.name,), None, factor) for factor in _TRIED_FACTORS]
    dominant = dominant_symbol(path)
    return scenarios, replay.shift(dominant.name) if dominant in own else None


def _is_kernel(symbol: SymbolOnPath) -> bool:
    return symbol.kind == KERNEL


class GraphReplay:
    """Replays the graph of a trace with different durations for its kernels."""

    def __init__(self, dag: Dag, path: CriticalPath):
        self._dag, self._path = dag, path
        self._origin = dag.origin
        totals = {symbol.name: symbol.total_ns for symbol in path.symbols if symbol.kind in _KERNELS}
        self._total = [totals.get(name, 0) for name in dag.names]
        self._symbol_index = {name: index for index, name in enumerate(dag.names) if dag.kinds[index] in _KERNELS}
        self._start, self._end = np.empty(len(dag), np.int64), np.empty(len(dag), np.int64)
        self._binding = np.empty(len(dag), np.int32)

    @property
    def nodes(self) -> int:
        return len(self._dag)

    def has(self, name: str) -> bool:
        return name in self._symbol_index

    def scenario_for(self, speedup: Speedup, mangled: Mapping[str, str]) -> Scenario:
        names = tuple(name for name in self._symbol_index if fits(speedup.pattern, name, mangled.get(name)))
        return self.scenario(names, speedup.pattern, speedup.factor)

    def scenario(self, names: tuple[str, ...], pattern: str | None, factor: float | None) -> Scenario:
        span, dominant, fraction = self.run(dict.fromkeys(names, 0.0 if factor is None else 1 / factor))
        speedup = self._path.length_ns / span if span > 0 else None
        return Scenario(names, pattern, factor, span, speedup, dominant, fraction)

    def shift(self, name: str) -> DominanceShift:
        """Step to the first factor at which a different kernel dominates, then bisect."""
        least = 1.0
        for factor in _GRID[1:]:
            if (then := self.run({name: 1 / factor})[1]) != name:
                break
            least = factor
        else:
            return DominanceShift(name, None, None)
        while factor / least > _PRECISION:
            middle = (factor * least) ** 0.5
            dominant = self.run({name: 1 / middle})[1]
            if dominant == name:
                least = middle
            else:
                factor, then = middle, dominant
        return DominanceShift(name, factor, then)

    def run(self, shares: Mapping[str, float]) -> tuple[int, str | None, float]:
        """The new span, the dominant kernel on the new path (None if there is none), and this kernel's share of the path.

        shares: for each kernel, the fraction of its time that is left.
        """
        dag = self._dag
        span, on_path = self._path_with(shares)
        own = [index for index in self._symbol_index.values() if dag.kinds[index] == KERNEL and on_path[index] > 0]
        if not own:
            return span, None, 0.0
        # Ties are broken as in critical_path: in favour of the larger total time, then by name (indices are in that order).
        best = max(own, key=lambda index: (on_path[index], self._total[index], -index))
        # A node that was recorded as starting before what it depends on can be longer than the span.
        return span, dag.names[best], min(1.0, float(on_path[best]) / span) if span > 0 else 0.0

    def span(self, shares: Mapping[str, float]) -> int:
        """The new span alone. shares: as in run()."""
        return self._run_forward(shares)[1]

    def by_kind(self, shares: Mapping[str, float]) -> dict[str, int]:
        """Kind of node -> its time on the new path, in ns. The rest of the span lies between nodes."""
        _, on_path = self._path_with(shares)
        times: dict[str, int] = {}
        for kind, ns in zip(self._dag.kinds, on_path, strict=True):
            times[kind] = times.get(kind, 0) + round(float(ns))
        return times

    def spans(self, scenarios: Sequence[Mapping[str, float]]) -> list[int]:
        """The new span in each of several scenarios. Each scenario is given as shares, as in run()."""
        if len(self._dag) >= MIN_COMPILED_ELEMENTS:  # _forward then runs compiled
            return [self.span(shares) for shares in scenarios]
        at_once = max(1, _ROOM // max(1, len(self._dag)))
        return [span for i in range(0, len(scenarios), at_once) for span in self._forward_scenarios(scenarios[i : i + at_once])]

    def _forward_scenarios(self, scenarios: Sequence[Mapping[str, float]]) -> list[int]:
        """Like _forward, node by node, but for all scenarios at once."""
        dag = self._dag
        share = np.stack([self._shares(shares) for shares in scenarios], axis=1)
        start, end = np.empty((2, len(dag), len(scenarios)), np.int64)
        for node in dag.order.tolist():
            ready: Integers | None = None
            for edge in range(dag.first[node], dag.first[node + 1]):
                done = (start if dag.kind[edge] == _LAUNCH else end)[dag.source[edge]]
                ready = done if ready is None else np.maximum(ready, done)
            start[node] = (self._origin if ready is None else ready) + self._path.delay_of_ns[node]
            takes = np.rint((dag.end[node] - dag.start[node]) * share[dag.name_index[node]])
            end[node] = start[node] + takes.astype(np.int64)
        spans: list[int] = (end[: dag.gpu_nodes].max(axis=0) - self._origin).tolist()
        return spans

    def _shares(self, shares: Mapping[str, float]) -> Floats:
        share = np.ones(len(self._dag.names))
        for name, left in shares.items():
            share[self._symbol_index[name]] = left
        return share

    def _run_forward(self, shares: Mapping[str, float]) -> tuple[int, int]:
        """The dispatch or copy that ends last, and the span."""
        dag, delay = self._dag, self._path.delay_of_ns
        observed = (dag.start, dag.end, delay, dag.source, dag.first, dag.kind, dag.order, dag.name_index, self._origin)
        _forward(*observed, self._shares(shares), self._start, self._end, self._binding)
        last = int(np.argmax(self._end[: dag.gpu_nodes]))
        return last, int(self._end[last]) - self._origin

    def _path_with(self, shares: Mapping[str, float]) -> tuple[int, Floats]:
        """The new span, and the time of each symbol on the new path."""
        dag = self._dag
        last, span = self._run_forward(shares)
        nodes, counted = walk_back(dag, self._binding, last)
        takes = (self._end[nodes] - self._start[nodes]) * counted + np.minimum(self._path.delay_of_ns[nodes], 0)
        return span, np.bincount(dag.name_index[nodes], takes, len(dag.names))


@lazy_jit
def _forward(
    old_start: Integers,
    old_end: Integers,
    delay: Integers,
    source: Integers,
    first: Integers,
    kind: Integers,
    order: Integers,
    symbol: Integers,
    origin: int,
    share: Floats,
    start: Integers,
    end: Integers,
    binding: Integers,
) -> None:
    """Compute when each node starts and ends, and which predecessor was ready last (the first if several tie).

    Each node takes its symbol's `share` of its observed time, rounded half to even.
    """
    for position in range(len(order)):
        node = order[position]
        ready = origin
        last = -1
        for edge in range(first[node], first[node + 1]):
            before = source[edge]
            done = start[before] if kind[edge] == _LAUNCH else end[before]
            if last < 0 or done > ready or (done == ready and before < last):
                ready = done
                last = before
        binding[node] = last
        start[node] = ready + delay[node]
        takes = old_end[node] - old_start[node]
        left = share[symbol[node]]
        end[node] = start[node] + (takes if left == 1.0 else round(takes * left))
