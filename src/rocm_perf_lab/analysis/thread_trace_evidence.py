"""The evidence that a thread trace contributes where counters were not collected.

A thread trace covers a few waves on one CU. It shows how a wave spends its life just as well as counters do. It also shows how
busy this CU's units are. Since this CU is known to have work, that represents the whole device only if the grid has at least
one wave per SIMD.
"""

from __future__ import annotations

from rocm_perf_lab.analysis.thread_trace.findings import ThreadTraceFindings
from rocm_perf_lab.arch.metric import Value

_MEMORY = ("vector memory", "scalar memory")


def from_thread_trace(found: ThreadTraceFindings, grid_waves_per_simd: float | None) -> dict[str, Value]:
    """Name -> evidence; only what the trace can show."""
    fills = grid_waves_per_simd is not None and grid_waves_per_simd >= 1
    values = {"wait_fraction": found.wait_fraction, "issue_wait_fraction": _not_issuing(found)} | _accesses(found)
    if fills:
        values |= {"valu_busy_fraction": found.valu_fraction, "mfma_busy_fraction": found.mfma_fraction}
    return {name: value for name, value in values.items() if value.value is not None}


def _not_issuing(found: ThreadTraceFindings) -> Value:
    """Stalls other than waits: the instruction is available, but cannot issue."""
    stall, wait = found.stall_fraction, found.wait_fraction
    if stall.value is None or wait.value is None:
        return Value.missing_because("fraction", [stall, wait])
    return Value(max(0.0, stall.value - wait.value), "fraction")


def _accesses(found: ThreadTraceFindings) -> dict[str, Value]:
    """Evidence about accesses; {} unless all waves are complete, because a truncated wave made more than the trace shows."""
    count = sum(found.mix.get(kind, 0) for kind in _MEMORY)
    if not count or not found.waves.value or found.truncated_waves or found.wait_fraction.value is None:
        return {}
    cycles = sum(one.cost.latency + one.cost.idle for one in found.hot_instructions)
    return {
        "memory_instructions_per_wave": Value(count / found.waves.value, "instructions/wave"),
        "wait_cycles_per_memory_instruction": Value(found.wait_fraction.value * cycles / count, "cycles/instruction"),
    }
