"""The JSON documents of a run directory, schema version 1.0.

A field that can be null says why in `reasons` of the same object, under the field's name; nothing unknown is ever written
as 0. All times are in the unit that the field's name ends in. Only `run` differs between two runs of a modelled device.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

SCHEMA_VERSION: Final = "1.0"

Fraction = float  # 0..1 unless a field says otherwise


class Section(BaseModel):
    """An object of a document. Unknown fields are refused, and every null has its reason."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    reasons: dict[str, str] = Field(default_factory=dict, description="field name -> why that field is null; absent if none is")

    @model_serializer(mode="wrap")
    def _reasons_last(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = serialize(self)
        reasons = fields.pop("reasons")
        return fields | ({"reasons": reasons} if reasons else {})

    @model_validator(mode="after")
    def _nulls_have_reasons(self) -> Section:
        nulls = {name for name in type(self).model_fields if getattr(self, name) is None}
        if nulls != set(self.reasons):
            raise ValueError(f"null fields {sorted(nulls)} and reasons {sorted(self.reasons)} do not match")
        return self


class Tool(Section):
    name: Literal["rocm-perf-lab"] = "rocm-perf-lab"
    version: str


class Gpu(Section):
    architecture: str = Field(description="the family: cdna2, cdna3, rdna2, or unknown")
    target: str = Field(description="LLVM target, e.g. gfx942")
    product: str
    pci_id: str | None = Field(description="PCI device id, e.g. 0x74a1")
    software_device: str | None = Field(description="the software device that ran the kernels; null on hardware")
    compute_units: int | None
    clock_mhz: float | None = Field(description="peak shader clock that the ceilings assume")
    memory_bandwidth_gbps: float | None = Field(description="peak HBM or GDDR bandwidth that the ceilings assume, GB/s")


class Document(Section):
    """What every document begins with."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    tool: Tool
    gpu: Gpu
    timing: Literal["measured", "modelled"] = Field(description="modelled: times come from the software device's timing model")
    timing_parameters: str | None = Field(description="identifies the timing model's parameters; null where times are measured")


class Run(Section):
    """Specific to one run: two runs of the same program differ here."""

    command: str
    host: str
    pid: int
    created: str = Field(description="when the base trace was written, ISO 8601, UTC")
    collector: str


class KernelIdentity(Section):
    name: str = Field(description="demangled")
    symbol: str = Field(description="mangled")
    dispatch_id: int = Field(description="the dispatch that was selected, as in the trace")
    duration_ns: int | None
    workgroup: tuple[int, int, int] = Field(description="work-items")
    grid: tuple[int, int, int] = Field(description="work-items")
    selection: str = Field(description="why this dispatch")


class StabilitySection(Section):
    runs: int
    mean_ms: float | None
    stddev_ms: float | None = Field(description="of the sample")
    cv: float | None = Field(description="stddev / mean")
    classification: Literal["stable", "moderate", "unstable"] | None = Field(description="cv <= 0.05, <= 0.10, more")


class Resources(Section):
    vgpr_per_thread: int = Field(description="architectural VGPRs: of the code object's metadata, else aligned as loaded")
    accum_vgpr_per_thread: int = Field(description="AGPRs by the same; as loaded: the rest of the allocation, padding included")
    sgpr_per_wave: int = Field(description="of the code object's metadata, else aligned to the SGPR granule as loaded")
    lds_bytes: int = Field(description="per workgroup, static and dynamic")
    scratch_bytes: int = Field(description="per work-item")


class ResourceChange(Section):
    resource: str = Field(description="VGPRs (a lane, arch and accum together), SGPRs, LDS (bytes) or workgroup size (threads)")
    now: int
    then: int = Field(description="the most that it may take afterwards; for a workgroup its new size")


class LiftSection(Section):
    changes: list[ResourceChange] = Field(description="all of them together")
    resident_waves_per_cu: int = Field(description="after the changes")


class OccupancySection(Section):
    theoretical: Fraction | None = Field(description="resident_waves_per_cu of the most a compute unit holds")
    unit: Literal["CU", "WGP"] | None = Field(
        description="what the figures per CU are of: on RDNA in WGP mode of a WGP, two CUs"
    )
    compiler_waves_per_simd: int | None = Field(
        description="as clang's kernel-resource-usage remark counts for workgroups of this size"
    )
    resident_waves_per_cu: int | None = Field(description="whole workgroups, LDS in granules")
    resident_workgroups_per_cu: int | None
    max_waves_per_cu: int | None
    simds_per_cu: int | None
    limited_by: list[str] = Field(description="the resources with the smallest limit; 'wave slots' is the hardware's maximum")
    limits: dict[str, int] = Field(description="waves per CU that each resource alone allows")
    waves_in_grid: int | None
    device_waves: int | None = Field(description="how many the device holds at once")
    lifts: list[LiftSection] = Field(description="alternatives, each of which lets more waves reside")
    notes: list[str]


class ArithmeticSection(Section):
    precision: str = Field(description="f8, f16, bf16, f32, f64; i8 counts integer operations, which are no FLOP")
    pipe: Literal["valu", "mfma"]
    flop: float | None = Field(description="floating-point operations of all dispatches")
    gflops: float | None = Field(description="attained, 10^9 FLOP/s")
    peak_gflops: float | None = Field(description="of the data sheet")
    fraction: float | None = Field(description="attained / peak")
    measured_gflops: float | None = Field(description="what a microbenchmark reached (--ceilings)")
    fraction_of_measured: float | None = Field(description="attained / measured")


class LevelSection(Section):
    level: str
    bytes: float | None = Field(description="of all dispatches")
    gbps: float | None = Field(description="attained, 10^9 bytes/s")
    peak_gbps: float | None
    fraction: float | None = Field(description="attained / peak; can exceed 1 for HBM where a MALL answers")
    measured_gbps: float | None = Field(description="what a microbenchmark reached (--ceilings)")
    fraction_of_measured: float | None = Field(description="attained / measured")
    operational_intensity: float | None = Field(description="FLOP per byte at this level")


class RooflineSection(Section):
    kernel: str
    time_ms: float | None
    flop: float | None
    gflops: float | None = Field(description="attained")
    attainable_gflops: float | None = Field(description="under the roof at this operational intensity")
    fraction_of_ceiling: float | None = Field(description="of the binding roof")
    measured_attainable_gflops: float | None = Field(description="under measured ceilings instead of peaks")
    fraction_of_measured_ceiling: float | None = Field(description="of the binding one of them")
    operational_intensity: float | None = Field(description="FLOP per byte beyond L2")
    ridge: float | None = Field(description="operations per byte at which the kernel's own mix meets the memory roof")
    position: Literal["memory-bound", "compute-bound"] | None = Field(description="the side of the ridge")
    arithmetic: list[ArithmeticSection]
    levels: list[LevelSection]
    notes: list[str] = Field(description="known biases of the numbers")


class PassSection(Section):
    kind: Literal["counters", "thread trace"]
    output: str | None = Field(description="the database, or the folder of the thread trace, relative to the run directory")
    kernel: str | None = Field(description="the kernel that a thread trace is of; a counter pass covers all")
    counters: list[str] = Field(description="what a counter pass asked for")
    missing: dict[str, str] = Field(description="those of them that were not collected -> why")
    notes: list[str] = Field(description="why what was collected may be wrong")


class ProfileDocument(Document):
    """profile.json: the kernel that matters most, what it uses and where it stands."""

    kernel: KernelIdentity
    runtime_ms: float | None = Field(description="median over runs of the time in the program's own kernels")
    stability: StabilitySection
    resources: Resources
    occupancy: OccupancySection
    roofline: RooflineSection | None = Field(description="of all dispatches of the kernel's symbol")
    passes: list[PassSection] = Field(default=[], description="further runs of the program, beside those for times")
    run: Run


class MeasuredCeilings(Section):
    """Where measured ceilings come from."""

    source: str = Field(description="the file")
    timing: Literal["measured", "modelled"] | None = Field(description="null where the file does not say")


class RooflineDocument(Document):
    """roofline.json: every symbol under the roofs of the device."""

    ceilings: MeasuredCeilings | None = Field(description="null if none were given")
    total: RooflineSection | None = Field(description="the program's own kernels together: sums over sums; of one device")
    kernels: list[RooflineSection]


class SymbolPathSection(Section):
    kernel: str = Field(description="kernel name, or the kind of copy")
    kind: Literal["kernel", "runtime kernel", "copy", "host call"]
    dispatches: int = Field(description="of a copy or a host call: how often it was made")
    dispatches_on_path: int
    total_ms: float | None = Field(description="of a host call from entry to return, also before and after the GPU's span")
    share: float | None = Field(description="of the time of all kernels and copies")
    critical_path_ns: int | None = Field(description="time on the critical path")
    fraction: float | None = Field(description="of the critical path")
    speedup_ceiling: float | None = Field(description="1 / (1 - fraction): of the GPU span, if the symbol took no time")
    min_slack_ns: int | None = Field(description="how much longer a dispatch could take without delaying the end")
    mean_slack_ns: float | None
    overlap_potential_ns: int | None = Field(
        description="how long its dispatches could have run beside their predecessors in the queue: only its order kept them"
    )


class EdgeCounts(Section):
    queue: int = Field(description="order within a queue, and nothing else")
    signal: int = Field(description="through a signal, e.g. an event that another stream waits for")
    host: int = Field(description="the submitting thread had waited")
    stream: int = Field(description="order within a HIP stream, or with the null stream")
    launch: int | None = Field(description="a host call launched it")
    event: int | None = Field(description="a stream waits for an event that another recorded")
    wait: int | None = Field(description="a host call waits for it")
    program: int | None = Field(description="order within a host thread")
    exact: int = Field(description="of all kinds: how many the trace has; the rest is inferred from order in time")


class GapSection(Section):
    start_ns: int = Field(description="from the start of the span")
    duration_ns: int
    cause: Literal["host", "copy", "dependency", "latency", "unknown"] = Field(description="of the greater part")
    before: str = Field(description="the kernel that ended it")
    waited_for: str | None = Field(description="what that kernel's last predecessor was: a host call, a copy or a kernel")


class IdleSection(Section):
    """One GPU's time without a kernel, between its first and its last one."""

    agent: int = Field(description="id in the trace")
    span_ns: int
    idle_ns: int
    fraction: Fraction = Field(description="idle / span")
    gaps: int
    by_cause_ns: dict[str, int] = Field(
        description="host (had not launched), copy, dependency (another kernel), latency (all it needed was there), unknown"
    )
    longest: list[GapSection] = Field(description="the ten longest")


class WhatIfSection(Section):
    """The graph run forward again with some kernels faster."""

    kernels: list[str]
    pattern: str | None = Field(description="as asked for with --what-if")
    factor: float | None = Field(description="how many times faster")
    span_ns: int = Field(description="of the GPU then")
    speedup: float | None = Field(description="of the span")
    dominant_symbol: str | None = Field(description="the program's kernel with the most time on the new path")
    fraction: float = Field(description="that kernel's, of the new path")


class DominanceShiftSection(Section):
    kernel: str
    factor: float | None = Field(description="from how many times faster on it no longer dominates, to 2 %")
    then: str | None = Field(description="what dominates then")


class DagDocument(Document):
    """dag.json: what the GPU's span is made of. Per-dispatch results are in dispatches.parquet."""

    dependencies: Literal["exact", "inferred"] = Field(
        description="exact: seen by the collector; inferred: order within queues and streams, and what host calls tell"
    )
    nodes: int = Field(description="dispatches, copies and, where traced, host calls")
    edges: EdgeCounts
    critical_path_ns: int | None = Field(description="from the first start to the last end: work + host + delay + lead")
    work_ns: int | None = Field(description="kernels and copies on the path")
    host_ns: int | None = Field(description="host calls on the path and the host's code between them")
    delay_ns: int | None = Field(description="between other nodes of the path: launch overhead, unseen host work")
    lead_ns: int | None = Field(description="before the path's first node")
    dominant_symbol: str | None = Field(description="the program's kernel with the most time on the path")
    fraction: float | None = Field(description="the dominant symbol's, of the critical path")
    speedup_ceiling: float | None = Field(description="1 / (1 - fraction)")
    next_in_line: list[str] = Field(description="if fraction < 0.7: the kernels with the most time on the path after it")
    symbols: list[SymbolPathSection]
    idle: list[IdleSection] = Field(description="one a GPU")
    what_if: list[WhatIfSection]
    dominance_shift: DominanceShiftSection | None = Field(description="of the dominant symbol")
    notes: list[str]


class EvidenceItem(Section):
    name: str
    value: float | None
    unit: str


class SignalSection(EvidenceItem):
    """A number against the threshold from which on it speaks for a class."""

    threshold: float
    direction: Literal["at least", "at most"] = Field(description="of the threshold, for the signal to hold")
    holds: bool | None
    counters: list[str] = Field(description="that the number was computed from; empty if the trace itself says it")
    rationale: str = Field(description="why this threshold")


class FindingSection(Section):
    name: str
    why: str
    evidence: list[EvidenceItem]


class ClassSection(Section):
    name: str
    score: float | None = Field(description="0 to 1, by what is known; it holds from 0.5 on")
    at_least: float = Field(description="whatever the missing numbers are")
    at_most: float
    signals: list[SignalSection]
    advice: list[str] = Field(description="of the signals that show it")


class BottleneckSection(Section):
    name: str = Field(description="the class with the highest score; 'unknown' if none holds, with the reason in `why`")
    why: str
    score: float | None
    confidence: float = Field(description="0 to 1: the share of the signals that are known, times the lead over the next class")
    certainty: Literal["high", "medium", "low"] = Field(description="high: nothing that is missing could change the verdict")
    evidence: list[SignalSection] = Field(description="the numbers that show the class")
    classes: list[ClassSection] = Field(description="all five, the strongest first")
    factors: list[FindingSection] = Field(description="what explains it or adds to it")
    undecided: dict[str, str] = Field(description="other classes that the missing numbers could bring up -> what they lack")
    advice: list[str] = Field(description="what to try next, the most specific first")


class HeadroomSection(Section):
    ceiling_ms: float | None = Field(description="the least time for the present work")
    binding: str | None = Field(description="what takes that time: a memory level, arithmetic, or VALU issue")
    fraction: float | None = Field(description="of the kernel's time that it could lose: 1 - ceiling / time")
    kernel_speedup: float | None = Field(description="present time / ceiling")
    program_speedup: float | None = Field(description="of the GPU span, if the kernel reached its ceiling (Amdahl)")
    priority: float | None = Field(description="fraction x critical path fraction: what of the span is to be won at most")
    assumption: str


class TracedInstruction(Section):
    isa: str
    source: str | None = Field(description="file:line; of inlined code the innermost, then ' -> ' and the place it went to")
    vaddr: int = Field(description="in the code object")
    hits: int = Field(description="executions by traced waves")
    latency_cycles: int = Field(description="sum; stalls included")
    stall_cycles: int
    idle_cycles: int = Field(description="between what ran before and it")
    share: float = Field(description="of the waves' cycles")


class TracedLine(Section):
    source: str = Field(description="file:line")
    hits: int
    latency_cycles: int
    stall_cycles: int
    idle_cycles: int
    share: float = Field(description="of the waves' cycles that its instructions took")
    waited_cycles: int = Field(description="that waves stalled, here or elsewhere, until an access of this line was done")


class WaitedAccess(Section):
    isa: str
    source: str | None
    times: int = Field(description="in how many waits it was waited for")
    ended: int = Field(description="how many of those it ended, being the last")
    waited_cycles: int = Field(description="that the waits which it ended took")


class WaitChainSection(Section):
    wait: TracedInstruction
    accesses: list[WaitedAccess] = Field(description="what it waited for, the most cycles first")
    unexplained_cycles: int = Field(description="of waits for which it is open what ended them, or that found nothing")


class WavesOverTime(Section):
    start_cycle: int
    cycles_per_bin: float
    waves: list[float] = Field(description="mean number on the CU, a bin each")
    mean: float
    peak: int


class ThreadTraceSection(Section):
    """One dispatch's waves on one CU, instruction by instruction."""

    dispatch: int | None = Field(description="number in the name of the trace's files")
    clock_mhz: float | None = Field(description="of the shader during the trace")
    latency_is: Literal["stall + issue", "stall + execution"] | None = Field(description="gfx9, later: never compare the two")
    waves: int | None
    truncated_waves: int = Field(description="of which the trace lost instructions")
    instructions: int
    mix: dict[str, int] = Field(description="kind -> instructions executed")
    issue_fraction: float | None = Field(description="of the waves' cycles; adds up to 1 with stall and idle")
    stall_fraction: float | None
    idle_fraction: float | None = Field(description="between two instructions: nothing to issue")
    wait_fraction: float | None = Field(description="the part of the stalls at s_waitcnt, s_barrier and s_nop")
    ipc: float | None = Field(description="instructions a cycle in which a SIMD had a wave")
    valu_fraction: float | None = Field(description="of those cycles, in which a vector instruction issues")
    mfma_fraction: float | None = Field(description="of those cycles, in which the matrix unit is busy")
    vector_memory_latency_cycles: float | None = Field(description="mean, from issue to the end of the wait it ended")
    scalar_memory_latency_cycles: float | None
    lds_latency_cycles: float | None
    waited_for: TracedLine | None = Field(description="the source line whose accesses waves wait longest for")
    hot_instructions: list[TracedInstruction] = Field(description="the ten with the most cycles")
    hot_lines: list[TracedLine] = Field(description="the ten with the most cycles; empty without line numbers")
    wait_chains: list[WaitChainSection] = Field(description="the ten wait instructions with the longest stalls")
    occupancy: WavesOverTime | None
    notes: list[str]


class DurationsSection(Section):
    """Of the dispatches in the base run."""

    mean_ns: float
    stddev_ns: float | None = Field(description="of the sample")
    min_ns: int
    median_ns: float = Field(description="of an even number of dispatches the mean of the two in the middle")
    p95_ns: float = Field(description="percentile, interpolated linearly between two dispatches as numpy.percentile does")
    max_ns: int


class KernelAnalysis(Section):
    kernel: str = Field(description="demangled")
    symbol: str = Field(default="", description="mangled")
    dispatches: int
    workgroup: tuple[int, int, int] = Field(description="work-items, of the symbol's longest dispatch")
    grid: tuple[int, int, int] = Field(description="work-items, of the symbol's longest dispatch")
    time_ms: float | None = Field(description="total of the symbol in the base run")
    durations: DurationsSection | None
    operational_intensity: float | None = Field(description="FLOP per byte beyond L2")
    roofline_position: Literal["memory-bound", "compute-bound"] | None
    critical_path_score: float | None = Field(description="fraction of the critical path, 0..1")
    bottleneck: BottleneckSection
    headroom: HeadroomSection
    resources: Resources = Field(description="of the symbol's longest dispatch")
    occupancy: OccupancySection = Field(description="of the symbol's longest dispatch")
    evidence: list[EvidenceItem] = Field(description="every number that a rule can use")
    thread_trace: ThreadTraceSection | None = Field(description="what its waves did; of one dispatch")
    notes: list[str] = Field(description="known biases and what had to be assumed")


class AnalysisDocument(Document):
    """analysis.json: what holds each kernel back and how much there is to win."""

    kernels: list[KernelAnalysis]


class RankSummary(Section):
    rank: int | None = Field(description="as the launcher numbered it")
    directory: str = Field(description="its documents, in the run directory")
    database: str
    command: str
    host: str
    pid: int
    gpu: str = Field(description="product")
    timing: Literal["measured", "modelled"]
    dispatches: int
    kernel_time_ms: float | None = Field(description="time in the program's own kernels")
    span_ms: float | None = Field(description="from the first start to the last end on its GPUs")
    dominant_symbol: str | None
    fraction: float | None = Field(description="the dominant symbol's, of the rank's critical path")


class KernelOverRanks(Section):
    kernel: str
    ranks: int = Field(description="how many launched it")
    dispatches: int
    total_ms: float | None
    min_ms: float | None = Field(description="of the ranks that launched it")
    max_ms: float | None
    imbalance: float | None = Field(description="max / mean over all ranks; 1 is balanced")


class SummaryDocument(Section):
    """summary.json: several ranks side by side."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    tool: Tool
    ranks: list[RankSummary]
    slowest_rank: int | None = Field(description="place in `ranks` of the longest span")
    kernels: list[KernelOverRanks] = Field(description="most total time first")
    notes: list[str]


class TracedKernel(Section):
    kernel: str = Field(description="demangled")
    symbol: str = Field(description="mangled")
    bottleneck: BottleneckSection = Field(description="as far as the thread trace alone tells")
    thread_trace: ThreadTraceSection


class ThreadTraceDocument(Section):
    """What `rocm-perf analyze` prints of thread traces without a database."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    tool: Tool
    kernels: list[TracedKernel] = Field(description="the one with most traced instructions first")
    notes: list[str]


DOCUMENTS: dict[str, type[Document]] = {
    "profile": ProfileDocument,
    "roofline": RooflineDocument,
    "dag": DagDocument,
    "analysis": AnalysisDocument,
}


def json_schema() -> dict[str, Any]:
    """The JSON Schemas of all documents: file stem -> schema."""
    models: dict[str, type[Section]] = {**DOCUMENTS, "summary": SummaryDocument, "thread_trace": ThreadTraceDocument}
    return {name: model.model_json_schema() for name, model in models.items()}
