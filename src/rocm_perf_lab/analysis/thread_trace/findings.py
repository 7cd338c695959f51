"""What a thread trace says about its kernel.

A wave's cycles are spent either in its instructions (latency) or between them (idle). On gfx9, latency is stall + issue; on
gfx10 and later, it is stall + execution: never compare the two. A SIMD's cycles are those in which it had a traced wave.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.analysis.thread_trace import matrix_cycles, time_stack, waits
from rocm_perf_lab.analysis.thread_trace.parse import UnreadableFileError
from rocm_perf_lab.analysis.thread_trace.tables import Category, ThreadTrace, TracedCode, Wave
from rocm_perf_lab.arch.family import Family
from rocm_perf_lab.arch.metric import Value

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers

_MEMORY = ("vector", "scalar", "lds")
MIX: dict[int, str] = {
    Category.SMEM: "scalar memory", Category.SALU: "scalar ALU", Category.VMEM: "vector memory", Category.FLAT: "vector memory",
    Category.LDS: "LDS", Category.VALU: "vector ALU", Category.JUMP: "branch", Category.NEXT: "branch",
    Category.IMMEDIATE: "wait, barrier, nop", Category.MESSAGE: "message, end",
}  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """Sums over the waves, in cycles except for hits. share: the fraction of the waves' cycles that were spent here, idle
    included.
    """

    hits: int
    latency: int
    stall: int
    idle: int
    share: float


@dataclass(frozen=True)
class Instruction:
    """An instruction of the code. source: "" if unknown."""

    text: str
    source: str
    code_object: int
    vaddr: int
    cost: Cost


@dataclass(frozen=True)
class SourceLine:
    """A line of the source, "file:line". cost: the cost of its instructions. waited: the cycles that waves spent stalled in
    waits that this line's accesses ended; the wait instructions are often on other lines.
    """

    source: str
    cost: Cost
    waited: int


@dataclass(frozen=True)
class Access:
    """A memory instruction that waves waited for. times: how many waits included it. ended: in how many of them it was the last
    to complete. waited: the cycles of the waits that it ended.
    """

    instruction: Instruction
    times: int
    ended: int
    waited: int


@dataclass(frozen=True)
class WaitChain:
    """A wait instruction and the accesses that it waited for, most expensive first. unexplained: the cycles of waits with
    nothing outstanding and of waits ended by an unknown access.
    """

    wait: Instruction
    accesses: tuple[Access, ...]
    unexplained: int


@dataclass(frozen=True)
class OccupancyOverTime:
    """Waves on the traced CU. start, width: where the first bin starts and how wide the bins are, in cycles. waves: the mean
    number of waves in each bin.
    """

    start: int
    width: float
    waves: tuple[float, ...]
    mean: float
    peak: int


@dataclass(frozen=True)
class ThreadTraceFindings:
    """Values that the trace cannot provide are None, with a reason. The fractions of wave cycles add up to 1.

    instructions, waves, truncated_waves: how many were traced. mix: kind of instruction -> number executed.
    issue_fraction, stall_fraction, idle_fraction: shares of the waves' cycles; wait_fraction is the part of stall_fraction
    spent at s_waitcnt, s_barrier and s_nop. ipc: instructions per cycle and SIMD. valu_fraction: the share of the SIMDs' cycles
    in which a vector instruction issues; mfma_fraction: the share in which the matrix unit is busy. memory_latency: kind of
    memory -> mean cycles from the issue of an access to the end of the wait that it ended.
    """

    trace: ThreadTrace
    kernel: str | None
    symbol: str | None
    reason: str | None
    instructions: Value
    waves: Value
    truncated_waves: int
    mix: dict[str, int]
    issue_fraction: Value
    stall_fraction: Value
    wait_fraction: Value
    idle_fraction: Value
    ipc: Value
    valu_fraction: Value
    mfma_fraction: Value
    memory_latency: dict[str, Value]
    hot_instructions: tuple[Instruction, ...]
    hot_lines: tuple[SourceLine, ...]
    chains: tuple[WaitChain, ...]
    no_lines: str | None
    no_chains: str | None
    occupancy: OccupancyOverTime | None
    no_occupancy: str | None
    stack: time_stack.TimeStack | None
    no_stack: str | None

    @property
    def waited_for(self) -> SourceLine | None:
        """The source line with the accesses that waves wait longest for; None if there is none or lines are not known."""
        waiting = [line for line in self.hot_lines if line.waited > 0]
        return max(waiting, key=lambda line: line.waited) if waiting else None


def findings(trace: ThreadTrace, family: Family | None = None) -> ThreadTraceFindings:
    """Evaluate a trace. family: the traced GPU's family, which gives the rate of its matrix units."""
    code, missing = trace.code, trace.missing
    name = trace.kernel
    no_waves = missing.get("waves", "the trace has no waves")
    total = int((code.latency + code.idle).sum()) if code is not None else 0
    costs = _Costs(code, total) if code is not None else None
    chains, no_chains, latency = _chains(trace, costs)
    activity = _Activity.of(trace, family, no_waves)
    lines, no_lines = _lines(costs, chains) if costs else ((), missing["code"])
    occupancy, no_occupancy = _occupancy(trace)
    stack, no_stack = _stack(trace)
    count = (
        Value.missing("instructions", missing.get("code", ""))
        if code is None
        else Value(float(code.hits.sum()), "instructions")
    )
    return ThreadTraceFindings(
        trace=trace, kernel=(name[1] or name[0]) if name else None, symbol=name[0].removesuffix(".kd") if name else None,
        reason=missing.get("code"), instructions=count,
        waves=Value.missing("waves", no_waves) if trace.waves is None else Value(float(len(trace.waves)), "waves"),
        truncated_waves=sum(wave.truncated > 0 for wave in trace.waves or []),
        mix=_mix(trace.waves or []),
        **_fractions(code, total, missing),
        wait_fraction=activity.wait, ipc=activity.ipc, valu_fraction=activity.valu, mfma_fraction=activity.mfma,
        memory_latency=latency, hot_instructions=costs.hottest() if costs else (), hot_lines=lines, no_lines=no_lines,
        chains=chains, no_chains=no_chains, occupancy=occupancy, no_occupancy=no_occupancy,
        stack=stack, no_stack=no_stack,
    )  # fmt: skip


def _stack(trace: ThreadTrace) -> tuple[time_stack.TimeStack | None, str | None]:
    try:
        return time_stack.read(trace.folder), None
    except UnreadableFileError as reason:
        return None, str(reason)


class _Costs:
    """The code's rows as Instructions."""

    def __init__(self, code: TracedCode, total: int):
        self.code, self.total = code, total

    def cost(self, rows: Sequence[int] | Integers) -> Cost:
        hits, latency, stall, idle = (int(getattr(self.code, name)[rows].sum()) for name in TracedCode.SUMS)
        return Cost(hits, latency, stall, idle, (latency + idle) / self.total if self.total else 0.0)

    def instruction(self, row: int) -> Instruction:
        code = self.code
        return Instruction(code.text[row], code.source[row], int(code.code_object[row]), int(code.vaddr[row]), self.cost([row]))

    def hottest(self) -> tuple[Instruction, ...]:
        """Every instruction that ran, in descending order of cycles."""
        order = np.lexsort((self.code.line, -(self.code.latency + self.code.idle)))
        return tuple(self.instruction(row) for row in order.tolist() if self.code.hits[row])


def _fractions(code: TracedCode | None, total: int, missing: dict[str, str]) -> dict[str, Value]:
    if code is None or not total:
        none = Value.missing("fraction", missing.get("code") or "no instruction took any time")
        return dict.fromkeys(("issue_fraction", "stall_fraction", "idle_fraction"), none)
    latency, stall, idle = (int(column.sum()) for column in (code.latency, code.stall, code.idle))
    return {
        "issue_fraction": Value((latency - stall) / total, "fraction"),
        "stall_fraction": Value(stall / total, "fraction"),
        "idle_fraction": Value(idle / total, "fraction"),
    }


def _mix(waves: Sequence[Wave]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for wave in waves:
        for category, count in zip(*np.unique(wave.category, return_counts=True), strict=True):
            counts[MIX.get(int(category), "other")] += int(count)
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


# ---- SIMDs ----


@dataclass(frozen=True)
class _Activity:
    wait: Value
    ipc: Value
    valu: Value
    mfma: Value

    @classmethod
    def of(cls, trace: ThreadTrace, family: Family | None, no_waves: str) -> _Activity:
        cycles = simd_cycles(trace.waves or [])
        if trace.waves is None or trace.code is None or not cycles:
            none = Value.missing(
                "fraction", no_waves if trace.waves is None else trace.missing.get("code", "no wave took any time")
            )
            return cls(none, Value(None, "instructions/cycle", none.reason), none, none)
        records = np.concatenate([wave.records for wave in trace.waves])
        spent = int(trace.code.latency.sum() + trace.code.idle.sum())
        waits = records[records[:, 1] == Category.IMMEDIATE, 2].sum()
        vector = records[:, 1] == Category.VALU
        issue = Value(float((records[vector, 3] - records[vector, 2]).sum()) / cycles, "fraction")
        if trace.gfxip != 9:
            why = (
                "the trace has execution, not issue times"
                if trace.gfxip
                else trace.missing.get("gfxip", "the GPU is not known")
            )
            issue = Value.missing("fraction", why)
        return cls(
            wait=Value(float(waits) / spent, "fraction")
            if spent
            else Value.missing("fraction", "no instruction took any time"),
            ipc=Value(len(records) / cycles, "instructions/cycle"),
            valu=issue,
            mfma=_matrix(trace.code, family, cycles),
        )


def _matrix(code: TracedCode, family: Family | None, cycles: int) -> Value:
    rows = [row for row, text in enumerate(code.text) if matrix_cycles.is_matrix(text) and code.hits[row]]
    if not rows:
        return Value(0.0, "fraction")
    if family is None:
        return Value.missing("fraction", "the rate of the GPU's matrix units is not known")
    busy = 0.0
    for row in rows:
        took = matrix_cycles.busy_cycles(code.text[row], family)
        if took is None:
            return Value.missing("fraction", f"how long {code.text[row].split()[0]} takes is not known")
        busy += took * int(code.hits[row])
    return Value(busy / cycles, "fraction")


def simd_cycles(waves: Sequence[Wave]) -> int:
    """Cycles in which a SIMD had a traced wave, summed over SIMDs."""
    total = 0
    by_simd: dict[tuple[int, int, int], list[tuple[int, int]]] = defaultdict(list)
    for wave in waves:
        by_simd[wave.engine, wave.cu, wave.simd].append((wave.begin, wave.last))
    for lives in by_simd.values():
        covered = 0
        for begin, end in sorted(lives):
            total += max(0, end - max(begin, covered))
            covered = max(covered, end)
    return total


# ---- waits ----


def _chains(trace: ThreadTrace, costs: _Costs | None) -> tuple[tuple[WaitChain, ...], str | None, dict[str, Value]]:
    if costs is None:
        why = trace.missing["code"]
    elif trace.waves is None:
        why = trace.missing.get("waves", "no waves")
    elif trace.gfxip is None:
        why = trace.missing.get("gfxip", "the GPU's generation is not known")
    elif trace.gfxip not in waits.SUPPORTED:
        why = f"how gfx{trace.gfxip} counts outstanding accesses is not known here"
    else:
        return _followed(waits.WaitChains(costs.code, trace.waves, trace.gfxip), costs)
    return (), why, {name: Value.missing("cycles", why) for name in _MEMORY}


def _followed(chains: waits.WaitChains, costs: _Costs) -> tuple[tuple[WaitChain, ...], None, dict[str, Value]]:
    accesses: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
    unexplained: dict[int, int] = defaultdict(int)
    latencies: dict[str, list[int]] = {name: [] for name in _MEMORY}
    for wave, rows, waits_of_wave in zip(chains.waves, chains.rows, chains.of_wave, strict=True):
        time, stall, latency = wave.time.tolist(), wave.stall.tolist(), wave.latency.tolist()
        for wait in waits_of_wave:
            record, row = wait.record, int(rows[wait.record])
            for access in wait.accesses:
                accesses[row][int(rows[access])][0] += 1
            if wait.last is None:
                unexplained[row] += stall[record]
                continue
            last = int(rows[wait.last])
            accesses[row][last][1] += 1
            accesses[row][last][2] += stall[record]
            unexplained[row] += 0
            if stall[record] > _NO_WAIT:
                took = time[record] + latency[record] - (time[wait.last] + stall[wait.last])
                latencies[_memory_of(costs.code.text[last])].append(took)
    built = [
        WaitChain(
            costs.instruction(row),
            tuple(sorted(
                (Access(costs.instruction(access), *numbers) for access, numbers in accesses[row].items()),
                key=lambda access: (-access.waited, -access.times, access.instruction.vaddr),
            )),
            unexplained[row],
        )
        for row in sorted(unexplained)
    ]  # fmt: skip
    built.sort(key=lambda chain: (-chain.wait.cost.stall, chain.wait.vaddr))
    return tuple(built), None, {name: _mean(cycles) for name, cycles in latencies.items()}


_NO_WAIT = 4  # cycles that a wait takes even if nothing is outstanding (recorded)


def _memory_of(text: str) -> str:
    return {"s": "scalar", "d": "lds"}.get(text[0], "vector")


def _mean(cycles: list[int]) -> Value:
    if not cycles:
        return Value.missing("cycles", "no wave waited for a single such access")
    return Value(sum(cycles) / len(cycles), "cycles")


# ---- source lines ----


def innermost(source: str) -> str:
    """The location of the instruction itself: "a.h:3 -> b.hip:7" means a.h:3, inlined into b.hip:7."""
    return source.split(" -> ")[0].strip()


def _lines(costs: _Costs, chains: Sequence[WaitChain]) -> tuple[tuple[SourceLine, ...], str | None]:
    """Every line that ran, in descending order of cycles."""
    rows: dict[str, list[int]] = defaultdict(list)
    for row in np.flatnonzero(costs.code.hits).tolist():
        if line := innermost(costs.code.source[row]):
            rows[line].append(row)
    if not rows:
        return (), "the code has no line numbers: compile with -g"
    waited: dict[str, int] = defaultdict(int)
    for chain in chains:
        for access in chain.accesses:
            waited[innermost(access.instruction.source)] += access.waited
    lines = [SourceLine(line, costs.cost(rows_of_line), waited[line]) for line, rows_of_line in rows.items()]
    return tuple(sorted(lines, key=lambda line: (-line.cost.latency - line.cost.idle, line.source))), None


# ---- occupancy ----

_BINS = 48


def _occupancy(trace: ThreadTrace) -> tuple[OccupancyOverTime | None, str | None]:
    """The occupancy of the CU whose waves were traced, or why it is not known. Waves on untraced SIMDs also count."""
    if trace.events is None:
        return None, trace.missing.get("events", "no occupancy.json")
    if not trace.waves:
        return None, trace.missing.get("waves", "no wave was traced")
    engine, cu = trace.waves[0].engine, trace.waves[0].cu
    events = trace.events.engines.get(engine, np.empty((0, 6), np.int64))
    events = events[events[:, 1] == cu]
    if not len(events):
        return None, f"occupancy.json has no data on CU {cu}"
    events = events[np.argsort(events[:, 0], kind="stable")]
    time, change = events[:, 0], np.where(events[:, 4] == 1, 1, -1)
    count = np.cumsum(change)
    if count.min() < 0 or time[-1] == time[0]:
        return None, "occupancy.json has more wave ends than starts"
    start, width = int(time[0]), float(time[-1] - time[0]) / _BINS
    wave_cycles = np.concatenate(([0], np.cumsum(count[:-1] * np.diff(time))))
    edges = start + width * np.arange(_BINS + 1)
    means = np.diff(np.interp(edges, time, wave_cycles)) / width
    mean = float(wave_cycles[-1]) / float(time[-1] - time[0])
    return OccupancyOverTime(start, width, tuple(means.round(6).tolist()), mean, int(count.max())), None
