"""Simulates a search on a recorded space: times are looked up, and nothing runs."""

from __future__ import annotations

from rocm_perf_lab.autotune.recorded import Recording
from rocm_perf_lab.autotune.strategies import Options, Strategy, create


def simulate(recording: Recording, name: str, seed: int, options: Options) -> tuple[list[float | None], Strategy]:
    """(the times in the order of evaluation, the strategy after it has learnt from them)."""
    strategy = create(name, recording.space, seed, options)
    trace: list[float | None] = []
    while len(trace) < options.budget and (batch := strategy.propose()):
        for configuration in batch[: options.budget - len(trace)]:
            trace.append(recording.times[configuration])
            strategy.tell(configuration, trace[-1])
    return trace, strategy
