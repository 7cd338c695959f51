"""What a thread trace adds to the evidence, where counters were not collected.

The trace is of a few waves on one CU. What a wave's life is made of, it tells as well as counters do. How busy a unit is, it
tells of a CU that works; that is the device's only if the grid has a wave for each SIMD.
"""

from __future__ import annotations

from rocm_perf_lab.analysis.thread_trace.findings import TraceFindings
from rocm_perf_lab.arch.metric import Value

_MEMORY = ("vector memory", "scalar memory")


def from_thread_trace(found: TraceFindings, grid_waves_per_simd: float | None) -> dict[str, Value]:
    """By the names of the evidence; only what the trace can tell."""
    fills = grid_waves_per_simd is not None and grid_waves_per_simd >= 1
    values = {"wait_fraction": found.wait_fraction, "issue_wait_fraction": _not_issuing(found)} | _accesses(found)
    if fills:
        values |= {"valu_busy_fraction": found.valu_fraction, "mfma_busy_fraction": found.mfma_fraction}
    return {name: value for name, value in values.items() if value.value is not None}


def _not_issuing(found: TraceFindings) -> Value:
    """Stalls that are no waits: the instruction is there, and may not go."""
    stall, wait = found.stall_fraction, found.wait_fraction
    if stall.value is None or wait.value is None:
        return Value.missing_because("fraction", [stall, wait])
    return Value(max(0.0, stall.value - wait.value), "fraction")


def _accesses(found: TraceFindings) -> dict[str, Value]:
    """Of whole waves only: a wave that the trace lost part of made more accesses than are seen."""
    count = sum(found.mix.get(kind, 0) for kind in _MEMORY)
    if not count or not found.waves.value or found.truncated_waves or found.wait_fraction.value is None:
        return {}
    cycles = sum(one.cost.latency + one.cost.idle for one in found.hot_instructions)
    return {
        "memory_instructions_per_wave": Value(count / found.waves.value, "instructions/wave"),
        "wait_cycles_per_memory_instruction": Value(found.wait_fraction.value * cycles / count, "cycles/instruction"),
    }
