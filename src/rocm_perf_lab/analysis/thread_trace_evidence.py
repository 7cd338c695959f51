"""The evidence that a thread trace contributes where counters were not collected.

A thread trace covers a few waves on one CU. It shows how a wave spends its life just as well as counters do. It also shows how
busy this CU's units are. Since this CU is known to have work, that represents the whole device only if the grid has at least
one wave per SIMD.
"""

from __future__ import annotations

from rocm_perf_lab.analysis.thread_trace.findings import ThreadTraceFindings
from rocm_perf_lab.arch.metric import Value

_MEMORY = ("vector memory", "scalar memory")


def from_thread_trace(findings: ThreadTraceFindings, grid_waves_per_simd: float | None) -> dict[str, Value]:
    """Name -> evidence; only what the trace can show."""
    fills = grid_waves_per_simd is not None and grid_waves_per_simd >= 1
    values = {"wait_fraction": findings.wait_fraction, "issue_wait_fraction": _not_issuing(findings)} | _accesses(findings)
    if fills:
        values |= {"valu_busy_fraction": findings.valu_fraction, "mfma_busy_fraction": findings.mfma_fraction}
    return {name: value for name, value in values.items() if value.value is not None}


def _not_issuing(findings: ThreadTraceFindings) -> Value:
    """Stalls other than waits: the instruction is available, but cannot issue."""
    stall, wait = findings.stall_fraction, findings.wait_fraction
    if stall.value is None or wait.value is None:
        return Value.missing_because("fraction", [stall, wait])
    return Value(max(0.0, stall.value - wait.value), "fraction")


def _accesses(findings: ThreadTraceFindings) -> dict[str, Value]:
    """Evidence about accesses; {} unless all waves are complete, because a truncated wave made more than the trace shows."""
    count = sum(findings.mix.get(kind, 0) for kind in _MEMORY)
    if not count or not findings.waves.value or findings.truncated_waves or findings.wait_fraction.value is None:
        return {}
    cycles = sum(instruction.cost.latency + instruction.cost.idle for instruction in findings.hot_instructions)
    return {
        "memory_instructions_per_wave": Value(count / findings.waves.value, "instructions/wave"),
        "wait_cycles_per_memory_instruction": Value(findings.wait_fraction.value * cycles / count, "cycles/instruction"),
    }
