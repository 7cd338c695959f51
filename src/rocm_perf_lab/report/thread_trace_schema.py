"""The parts of the JSON documents that come from a thread trace; see schema.py."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rocm_perf_lab.report.section_base import Section


class TracedInstruction(Section):
    isa: str = Field(description="assembly")
    source: str | None = Field(
        description="file:line; for inlined code the innermost location, then ' -> ' and the place where it was inlined; null "
        "without line numbers"
    )
    vaddr: int = Field(description="address in the code object")
    hits: int = Field(description="executions by traced waves")
    latency_cycles: int = Field(description="sum of latencies, including stalls")
    stall_cycles: int = Field(description="sum of stalls")
    idle_cycles: int = Field(description="total time before the instruction in which the wave had nothing to issue")
    share: float = Field(description="(latency + idle) / all cycles of the waves")


class TracedLine(Section):
    source: str = Field(description="file:line, the innermost location")
    hits: int = Field(description="executions of its instructions by traced waves")
    latency_cycles: int = Field(description="sum over its instructions")
    stall_cycles: int = Field(description="sum over its instructions")
    idle_cycles: int = Field(description="sum over its instructions")
    share: float = Field(description="share of the waves' cycles")
    waited_cycles: int = Field(description="cycles for which waves stalled, at any line, until an access by this line was done")


class WaitedAccess(Section):
    isa: str = Field(description="assembly of the access")
    source: str | None = Field(description="file:line of the access")
    times: int = Field(description="number of waits for it")
    ended: int = Field(description="number of waits that it ended, being the last access")
    waited_cycles: int = Field(description="cycles of the waits that it ended")


class WaitChainSection(Section):
    wait: TracedInstruction = Field(description="the wait instruction")
    accesses: list[WaitedAccess] = Field(description="the accesses that it waited for, most cycles first")
    unexplained_cycles: int = Field(
        description="cycles of waits for which the access that ended them is unknown, or that found no access outstanding"
    )


class WavesOverTime(Section):
    start_cycle: int = Field(description="start of the first bin")
    cycles_per_bin: float = Field(description="width of a bin")
    waves: list[float] = Field(description="mean number of waves on the CU in each bin")
    mean: float = Field(description="mean over all bins")
    peak: int = Field(description="largest number of waves")


class StackPart(Section):
    name: str = Field(description="name of the cause; `rocm-perf explain NAME` says what it means")
    spent_on: str = Field(description="what the time is spent on")
    ns: float = Field(description="its part of the dispatch's time: the mean over all orders of removing causes")
    share: float = Field(description="the same, as a share of that time")
    first_ns: int = Field(description="by how much the dispatch becomes shorter if this cause alone is removed")
    last_ns: int = Field(description="by how much it becomes shorter still if this cause is removed after all others")


class InstructionGain(Section):
    isa: str = Field(description="assembly")
    source: str | None = Field(description="file:line; null without line numbers")
    gain_ns: int = Field(description="by how much the dispatch becomes shorter if the instruction's accesses take no time")


class LineGain(Section):
    source: str = Field(description="file:line")
    gain_ns: int = Field(description="by how much the dispatch becomes shorter if the line's instructions take no time")
    by_cause_ns: dict[str, int] = Field(
        description="the same if only one cause is removed from the line, such as the latency of its loads; only for the six "
        "lines with the largest gains"
    )


class TimeStackSection(Section):
    """The dispatch's time as a sum of the costs of causes: the software device timed it again without each subset of them."""

    duration_ns: int = Field(description="modelled time of the dispatch")
    parts: list[StackPart] = Field(description="largest first; they and rest_ns sum to duration_ns")
    rest_ns: int = Field(description="what is left without all of these causes")
    causes: list[str] = Field(default=[], description="the causes of the parts, in the order of the next field's bits")
    without_ns: list[int] = Field(
        default=[], description="the time without each subset of them; bit i of the index stands for the i-th cause"
    )
    alone_ns: dict[str, int] = Field(
        default={},
        description="cause -> the time without it alone, for all causes that were tried, including those not among the parts",
    )
    instructions: list[InstructionGain] = Field(description="the ten memory instructions with the largest gains")
    lines: list[LineGain] = Field(
        default=[], description="up to 16 source lines, largest gain first; empty without line numbers"
    )


class ThreadTraceSection(Section):
    """One dispatch's waves on one CU, instruction by instruction."""

    dispatch: int | None = Field(description="number of the dispatch in the names of the trace's files")
    clock_mhz: float | None = Field(description="shader clock during the trace")
    latency_is: Literal["stall + issue", "stall + execution"] | None = Field(
        description="stall + issue on gfx9, stall + execution on later GPUs; the two are not comparable"
    )
    waves: int | None = Field(description="traced waves")
    truncated_waves: int = Field(description="traced waves that lost instructions because of a lack of space")
    instructions: int = Field(description="executed instructions")
    mix: dict[str, int] = Field(description="kind -> instructions executed")
    issue_fraction: float | None = Field(description="share of the waves' cycles; issue, stall and idle add up to 1")
    stall_fraction: float | None = Field(description="share of the waves' cycles")
    idle_fraction: float | None = Field(
        description="share of the waves' cycles with no instruction to issue, for example after a jump"
    )
    wait_fraction: float | None = Field(description="share of the stalls that occurs at s_waitcnt, s_barrier and s_nop")
    ipc: float | None = Field(description="instructions per cycle per SIMD, over cycles in which the SIMD had a traced wave")
    valu_fraction: float | None = Field(description="share of those cycles in which a vector instruction issues")
    mfma_fraction: float | None = Field(
        description="share of those cycles in which the matrix unit is busy, computed from operations and its rate"
    )
    vector_memory_latency_cycles: float | None = Field(
        description="mean time from the issue of an access to the end of the wait that it ended; only for accesses for "
        "which waves stalled"
    )
    scalar_memory_latency_cycles: float | None = Field(description="the same for scalar loads")
    lds_latency_cycles: float | None = Field(description="the same for the LDS")
    waited_for: TracedLine | None = Field(description="the source line for whose accesses waves wait longest")
    hot_instructions: list[TracedInstruction] = Field(description="the ten instructions with the most cycles")
    hot_lines: list[TracedLine] = Field(description="the ten source lines with the most cycles; empty without line numbers")
    wait_chains: list[WaitChainSection] = Field(
        description="the ten wait instructions with the longest stalls, and the accesses that each waited for"
    )
    occupancy: WavesOverTime | None = Field(description="waves on the CU over time")
    time_stack: TimeStackSection | None = Field(
        description="what the dispatch's time is spent on, by experiments on the software device"
    )
    notes: list[str] = Field(description="what the trace lacks")
