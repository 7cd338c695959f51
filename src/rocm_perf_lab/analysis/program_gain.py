"""What the program would gain if a cause of lost time were removed: its graph is replayed with the shorter kernel times that
experiments found.

A kernel's gain is not its program's gain: other kernels run concurrently with it, and once it is shorter, a different path may
be the longest. So for each cause, the dependency graph is replayed with kernel times reduced to the share that is left without
that cause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rocm_perf_lab.analysis.critical_path import CriticalPath
from rocm_perf_lab.analysis.dag import Dag
from rocm_perf_lab.analysis.kernel_findings import KernelFindings
from rocm_perf_lab.analysis.time_stack_verdict import Remedy
from rocm_perf_lab.analysis.what_if import GraphReplay

_MIN_GAIN = 0.001  # share of the span; smaller gains are not listed


@dataclass(frozen=True)
class ProgramGain:
    """The effect of removing a cause from all kernels whose stacks contain it. gain: the share of the GPU's span that is saved.
    dominant: the program's kernel with the most time on the new path, None if none is on it. fraction: its share of that path.
    """

    cause: str
    kernels: tuple[str, ...]
    span_ns: int
    gain: float
    dominant: str | None
    fraction: float


def with_program_gains(
    kernels: Sequence[KernelFindings], dag: Dag, path: CriticalPath | None
) -> tuple[list[KernelFindings], list[ProgramGain]]:
    """The kernels, with the program's gain added to their remedies; and for each cause, the gain if it is removed from all
    kernels, largest first. Kernels without experiments stay as they are.
    """
    if path is None or not any(kernel.bottleneck.remedies for kernel in kernels):
        return list(kernels), []
    replay = GraphReplay(dag, path)
    known = [_with_gains(kernel, replay, path) for kernel in kernels]
    causes = dict.fromkeys(remedy.cause for kernel in known for remedy in kernel.bottleneck.remedies)
    together = [_gain(cause, _remaining_shares(cause, known), replay, path) for cause in causes]
    return known, sorted((gain for gain in together if gain.gain >= _MIN_GAIN), key=lambda gain: -gain.gain)


def _with_gains(kernel: KernelFindings, replay: GraphReplay, path: CriticalPath) -> KernelFindings:
    name = kernel.symbol.name
    if not replay.has(name):
        return kernel

    def known(remedy: Remedy) -> Remedy:
        gain = _gain(remedy.cause, {name: 1 - remedy.gain}, replay, path)
        return replace(remedy, program_gain=gain.gain, then_dominant=gain.dominant)

    bottleneck = kernel.bottleneck
    return replace(kernel, bottleneck=replace(bottleneck, remedies=tuple(map(known, bottleneck.remedies))))


def _remaining_shares(cause: str, kernels: Sequence[KernelFindings]) -> dict[str, float]:
    """For each kernel, the share of its time that is left without the cause."""
    shares = {}
    for kernel in kernels:
        for remedy in kernel.bottleneck.remedies:
            if remedy.cause == cause and remedy.program_gain is not None:
                shares[kernel.symbol.name] = 1 - remedy.gain
    return shares


def _gain(cause: str, left: Mapping[str, float], replay: GraphReplay, path: CriticalPath) -> ProgramGain:
    span, dominant, fraction = replay.run(left)
    gain = 1 - span / path.length_ns if path.length_ns else 0.0
    return ProgramGain(cause, tuple(left), span, max(0.0, gain), dominant, fraction)
