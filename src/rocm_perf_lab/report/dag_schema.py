"""dag.json: the critical path, edges, gaps, what-if scenarios and the program's time stack. See schema.py for the rules that
apply to all documents.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from rocm_perf_lab.report.schema import Document, Fraction
from rocm_perf_lab.report.section_base import Section


class SymbolPathSection(Section):
    kernel: str = Field(description="kernel name, or the kind of copy")
    kind: Literal["kernel", "runtime kernel", "copy", "host call"] = Field(description="what it is")
    dispatches: int = Field(description="number of dispatches, copies or calls")
    dispatches_on_path: int = Field(description="how many of them are on the critical path")
    total_ms: float | None = Field(
        description="total time; for a host call, the time from entry to return, even outside the GPU's span"
    )
    share: float | None = Field(description="share of the time of all kernels and copies")
    critical_path_ns: int | None = Field(description="time on the critical path")
    fraction: float | None = Field(description="share of the critical path")
    speedup_ceiling: float | None = Field(description="1 / (1 - fraction): speed-up of the GPU's span if this took no time")
    min_slack_ns: int | None = Field(
        description="smallest slack: how much longer a dispatch could take without delaying the end"
    )
    mean_slack_ns: float | None = Field(description="mean of the same")
    overlap_potential_ns: int | None = Field(
        description="how long its dispatches could have run concurrently with their predecessors in the queue, if the "
        "queue's order alone had not prevented it"
    )


class EdgeCounts(Section):
    queue: int = Field(description="order within a queue, with no other dependency")
    signal: int = Field(description="a signal, such as an event for which another stream waits")
    host: int = Field(description="the submitting thread had seen the earlier operation end")
    stream: int = Field(description="order within a HIP stream, or with the null stream")
    launch: int | None = Field(description="a host call launched it; null if HIP calls were not traced")
    event: int | None = Field(
        description="a stream waits for an event recorded in another one; null if HIP calls were not traced"
    )
    wait: int | None = Field(description="a host call waits for it; null if HIP calls were not traced")
    program: int | None = Field(description="order within a host thread; null if HIP calls were not traced")
    exact: int = Field(
        description="number of dependencies that are in the trace itself; the others are inferred from the order in time"
    )


class GapSection(Section):
    start_ns: int = Field(description="from the start of the span")
    duration_ns: int = Field(description="length of the gap")
    cause: Literal["host", "copy", "dependency", "latency", "unknown"] = Field(
        description="cause of the greater part of the gap"
    )
    before: str = Field(description="the kernel that ended it")
    waited_for: str | None = Field(description="the last predecessor of that kernel: a host call, a copy or a kernel")


class IdleSection(Section):
    """The time during which a GPU ran no kernel, between its first kernel and its last."""

    agent: int = Field(description="id of the GPU in the trace")
    span_ns: int = Field(description="time from the start of its first kernel to the end of its last")
    idle_ns: int = Field(description="time in which no kernel ran")
    fraction: Fraction = Field(description="idle / span")
    gaps: int = Field(description="number of gaps")
    by_cause_ns: dict[str, int] = Field(
        description="time by what the GPU waited for: host (had not launched yet), copy, dependency (another kernel), latency "
        "(launch, barrier, start-up), unknown (host or latency: HIP calls were not traced); adds up to idle_ns"
    )
    longest: list[GapSection] = Field(description="the ten longest gaps")


class WhatIfSection(Section):
    """The dependency graph, replayed with some kernels faster."""

    kernels: list[str] = Field(description="the kernels that are faster")
    pattern: str | None = Field(description="REGEX of --what-if; null for predictions that are made by default")
    factor: float | None = Field(description="how many times faster they are; null if they take no time")
    span_ns: int = Field(description="the GPU's predicted span")
    speedup: float | None = Field(description="current span / predicted span")
    dominant_symbol: str | None = Field(description="the program's kernel with the most time on the new path")
    fraction: float = Field(description="that kernel's share of the new path")


class ProgramGainSection(Section):
    """The dependency graph, replayed with kernels as short as experiments show them to be without one cause."""

    cause: str = Field(description="the part of the kernels' time stacks that is removed")
    kernels: list[str] = Field(description="the kernels that become shorter: those whose time stack has this part")
    span_ns: int = Field(description="the GPU's predicted span")
    gain: float = Field(description="share of the present span that is saved")
    dominant_symbol: str | None = Field(description="the program's kernel with the most time on the new path")
    fraction: float = Field(description="that kernel's share of the new path")


class ProgramPartSection(Section):
    """What one cause costs the program; each experiment recomputes the critical path."""

    name: str = Field(description="the cause; `rocm-perf explain NAME` says what it means")
    spent_on: str = Field(description="what the time is spent on, in words")
    ns: float = Field(description="part of the span: the mean gain over all orders in which causes can be removed")
    share: float = Field(description="share of the span")
    within_ns: float = Field(description="half of the 95 % interval of ns if orders were drawn; 0 if it is exact")
    first_ns: int = Field(description="gain if the cause is removed before all others")
    last_ns: int = Field(description="gain if the cause is removed after all others")
    kernels: list[str] = Field(description="the kernels whose time stacks contain it")


class ProgramStackSection(Section):
    """The GPU's span as a sum: the parts' ns and rest_ns."""

    span_ns: int = Field(description="the GPU's span as traced")
    parts: list[ProgramPartSection] = Field(description="one object per cause, the largest first")
    rest_ns: int = Field(description="the span without all of these causes")
    kernels_ns: int = Field(description="time of kernels on the path in the rest, including kernels without experiments")
    copies_ns: int = Field(description="time of copies on the path in the rest; the remainder is host time and gaps")
    kernels: list[str] = Field(description="the kernels with experiments, which become shorter")
    orders: int | None = Field(description="how many orders of the causes were drawn; null if the parts are exact")
    causes: list[str] = Field(description="the parts' causes in the order of without_ns; empty if orders were drawn")
    without_ns: list[int] = Field(
        description="the span without each set of causes: bit i of the index stands for the i-th; empty if orders were drawn"
    )
    dominant_symbol: str | None = Field(description="the program's kernel with the most time on the path in the rest")


class DominanceShiftSection(Section):
    kernel: str = Field(description="the dominant kernel")
    factor: float | None = Field(
        description="speed-up from which another kernel dominates, accurate to 2 %; null if none does up to 100"
    )
    then: str | None = Field(description="the kernel that dominates then")


class DagDocument(Document):
    """dag.json: the critical path, and what else makes up the GPU's span. Per-dispatch results are in dispatches.parquet."""

    dependencies: Literal["exact", "inferred"] = Field(
        description="exact: observed by the built-in tracer; inferred: from the order within queues and streams, and from "
        "host calls (rocprofv3)"
    )
    nodes: int = Field(description="number of dispatches, copies and, if traced, host calls")
    edges: EdgeCounts = Field(description="number of dependencies by kind")
    critical_path_ns: int | None = Field(
        description="from the first start to the last end: work_ns + host_ns + delay_ns + lead_ns"
    )
    work_ns: int | None = Field(description="time of kernels and copies on the path")
    host_ns: int | None = Field(
        description="time of host calls on the path and of the host code between them; null if no calls were traced, "
        "or if time is modelled"
    )
    delay_ns: int | None = Field(
        description="time between nodes of the path: launch overhead, wake-up, host work that was not traced"
    )
    lead_ns: int | None = Field(description="time before the first node of the path")
    dominant_symbol: str | None = Field(description="the program's kernel with the most time on the path")
    fraction: float | None = Field(description="its share of the critical path")
    speedup_ceiling: float | None = Field(
        description="1 / (1 - fraction): upper bound on the speed-up of the GPU's span from changing this kernel alone"
    )
    next_in_line: list[str] = Field(
        description="the program's next three kernels on the path, if fraction < 0.7, that is, if no kernel dominates"
    )
    symbols: list[SymbolPathSection] = Field(
        description="one object per kernel, kind of copy and host call, most time on the path first"
    )
    idle: list[IdleSection] = Field(description="one object per GPU: when it ran no kernel, and why")
    what_if: list[WhatIfSection] = Field(
        description="the GPU's span if kernels were faster: those of --what-if, then each of the first three on the path"
    )
    program_gains: list[ProgramGainSection] = Field(
        default=[],
        description="what the program would gain from removing each cause, largest first; empty without experiments",
    )
    program_stack: ProgramStackSection | None = Field(
        default=None, description="what the GPU's span is spent on, by experiments with its kernels"
    )
    dominance_shift: DominanceShiftSection | None = Field(
        description="speed-up from which another kernel dominates; null if no kernel of the program is on the path"
    )
    notes: list[str] = Field(description="what else determines the span, and what an inferred graph cannot show")

    @model_validator(mode="before")
    @classmethod
    def _older_ones_have_no_stack(cls, fields: Any) -> Any:
        if isinstance(fields, dict) and "program_stack" not in fields:
            return fields | {"reasons": fields.get("reasons", {}) | {"program_stack": "made before there was one"}}
        return fields
