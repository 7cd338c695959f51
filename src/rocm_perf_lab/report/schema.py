"""The JSON documents of a run directory, schema version 1.0.

Every null field is explained in `reasons` of the same object, under the field's name; an unknown value is never written as 0.
The name of each time field ends with its unit. Two runs on a software device differ only in `run`.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from rocm_perf_lab.report.section_base import Section
from rocm_perf_lab.report.thread_trace_schema import ThreadTraceSection
from rocm_perf_lab.report.triton_schema import TritonSection

SCHEMA_VERSION: Final = "1.0"

Fraction = float  # 0 to 1, unless a field says otherwise


class Tool(Section):
    name: Literal["rocm-perf-lab"] = Field(default="rocm-perf-lab", description="always this name")
    version: str = Field(description="version of rocm-perf")


class Gpu(Section):
    architecture: str = Field(description="the family: cdna2, cdna3, cdna4, rdna2, or unknown")
    target: str = Field(description="LLVM target, e.g. gfx942")
    product: str = Field(description="marketing name")
    pci_id: str | None = Field(description="PCI device id, e.g. 0x74a1")
    software_device: str | None = Field(description="the software device that ran the kernels; null on hardware")
    compute_units: int | None = Field(description="number of compute units that the ceilings assume")
    clock_mhz: float | None = Field(description="peak shader clock that the ceilings assume")
    memory_bandwidth_gbps: float | None = Field(description="peak HBM or GDDR bandwidth that the ceilings assume, GB/s")


class Document(Section):
    """The fields with which every document begins."""

    schema_version: Literal["1.0"] = Field(default=SCHEMA_VERSION, description="version of the schema")
    tool: Tool = Field(description="what wrote the document")
    gpu: Gpu = Field(description="the device")
    timing: Literal["measured", "modelled"] = Field(description="modelled: times come from the software device's timing model")
    timing_parameters: str | None = Field(description="identifies the timing model's parameters; null if times are measured")


class Run(Section):
    """Specific to one run: two runs of the same program differ here."""

    command: str = Field(description="the program and its arguments")
    host: str = Field(description="host name")
    pid: int = Field(description="process id of the program")
    created: str = Field(description="when the base trace was written, ISO 8601, UTC")
    collector: str = Field(description="what collected the trace: rocprofv3 or the built-in tracer")


class KernelIdentity(Section):
    name: str = Field(description="demangled name")
    symbol: str = Field(description="mangled name")
    dispatch_id: int = Field(description="the dispatch that was selected, as in the trace")
    duration_ns: int | None = Field(description="duration of this dispatch")
    workgroup: tuple[int, int, int] = Field(description="size in work-items, x, y and z")
    grid: tuple[int, int, int] = Field(description="size in work-items, x, y and z")
    selection: str = Field(description="why this dispatch was selected")


class StabilitySection(Section):
    runs: int = Field(description="number of runs with times")
    mean_ms: float | None = Field(description="mean runtime of the runs")
    stddev_ms: float | None = Field(description="sample standard deviation of the runtimes")
    cv: float | None = Field(description="stddev / mean")
    classification: Literal["stable", "moderate", "unstable"] | None = Field(
        description="stable: cv <= 0.05, moderate: cv <= 0.10, unstable: cv > 0.10"
    )


class Resources(Section):
    vgpr_per_thread: int | None = Field(
        description="architectural VGPRs: from the code object's metadata, or else as loaded, rounded up to 4"
    )
    accum_vgpr_per_thread: int | None = Field(
        description="AGPRs: from the code object's metadata, or else the rest of the allocation as loaded, including padding"
    )
    sgpr_per_wave: int | None = Field(
        description="SGPRs: from the code object's metadata, or else as loaded, rounded up to the granule"
    )
    lds_bytes: int = Field(description="LDS per workgroup, static and dynamic")
    scratch_bytes: int = Field(description="scratch per work-item")


class ResourceChange(Section):
    resource: str = Field(
        description="VGPRs (per lane, arch and accum together), SGPRs (per wave), LDS (bytes) or workgroup size (threads)"
    )
    now: int = Field(description="current use of the kernel")
    then: int = Field(description="maximum after the change; for a workgroup, its new size")


class LiftSection(Section):
    changes: list[ResourceChange] = Field(description="changes that must be made together")
    resident_waves_per_cu: int = Field(description="resident waves after the changes")


class OccupancySection(Section):
    theoretical: Fraction | None = Field(description="resident_waves_per_cu / max_waves_per_cu")
    unit: Literal["CU", "WGP"] | None = Field(
        description="unit of the figures per CU: a CU or, on RDNA in WGP mode, a WGP, that is, two CUs that share a workgroup"
    )
    compiler_waves_per_simd: int | None = Field(
        description="occupancy that clang's kernel-resource-usage remark states for workgroups of this size; not "
        "comparable with "
        "the next field"
    )
    resident_waves_per_cu: int | None = Field(
        description="waves of the workgroups that fit at once, with LDS counted in granules"
    )
    resident_workgroups_per_cu: int | None = Field(description="whole workgroups that fit at once")
    max_waves_per_cu: int | None = Field(description="maximum that the hardware can hold")
    simds_per_cu: int | None = Field(description="number of SIMDs")
    limited_by: list[str] = Field(description="the resources with the smallest limit; 'wave slots' is the hardware's maximum")
    limits: dict[str, int] = Field(description="waves per CU that each resource alone allows")
    waves_in_grid: int | None = Field(description="waves of this dispatch")
    device_waves: int | None = Field(description="waves that the whole device can hold at once")
    lifts: list[LiftSection] = Field(description="alternatives, each of which raises occupancy")
    notes: list[str] = Field(description="assumptions that were made")


class ArithmeticSection(Section):
    precision: str = Field(description="f8, f16, bf16, f32, f64 or i8; i8 counts integer operations, which are not FLOP")
    pipe: Literal["valu", "mfma"] = Field(description="vector ALU or matrix unit")
    flop: float | None = Field(description="floating-point operations of all dispatches")
    gflops: float | None = Field(description="attained, 10^9 FLOP/s")
    peak_gflops: float | None = Field(description="peak rate from the data sheet")
    fraction: float | None = Field(description="attained / peak")
    measured_gflops: float | None = Field(description="rate that a microbenchmark reached (--ceilings)")
    fraction_of_measured: float | None = Field(description="attained / measured")


class LevelSection(Section):
    level: str = Field(description="HBM, MALL (Infinity Cache), L2, L1 or LDS; HBM and MALL both mean all requests beyond L2")
    bytes: float | None = Field(description="bytes of all dispatches")
    gbps: float | None = Field(description="attained, 10^9 bytes/s")
    peak_gbps: float | None = Field(description="peak rate")
    fraction: float | None = Field(description="attained / peak; can exceed 1 for HBM if a MALL serves requests")
    measured_gbps: float | None = Field(description="rate that a microbenchmark reached (--ceilings)")
    fraction_of_measured: float | None = Field(description="attained / measured")
    operational_intensity: float | None = Field(description="FLOP per byte at this level")


class RooflineSection(Section):
    kernel: str = Field(description="demangled name")
    time_ms: float | None = Field(description="time of all its dispatches")
    flop: float | None = Field(description="floating-point operations of all its dispatches")
    gflops: float | None = Field(description="attained rate")
    attainable_gflops: float | None = Field(description="rate that the roof allows at this operational intensity")
    fraction_of_ceiling: float | None = Field(description="attained rate / binding roof")
    measured_attainable_gflops: float | None = Field(description="the same rate under measured ceilings instead of peaks")
    fraction_of_measured_ceiling: float | None = Field(description="attained rate / binding measured ceiling")
    operational_intensity: float | None = Field(description="FLOP per byte beyond L2")
    ridge: float | None = Field(
        description="operations per byte at which the roof for the kernel's own mix of operations meets the memory roof"
    )
    position: Literal["memory-bound", "compute-bound"] | None = Field(description="the side of the ridge; not a verdict")
    arithmetic: list[ArithmeticSection] = Field(description="one object per precision and pipe")
    levels: list[LevelSection] = Field(description="one object per level of the memory hierarchy")
    notes: list[str] = Field(description="known biases of the numbers")


class PassSection(Section):
    kind: Literal["counters", "thread trace"] = Field(description="what the pass collected")
    output: str | None = Field(
        description="the database, or the folder of the thread trace, relative to the run directory; null if there is none"
    )
    kernel: str | None = Field(description="the kernel of a thread trace; a counter pass covers all kernels")
    counters: list[str] = Field(description="counters that a counter pass requested")
    missing: dict[str, str] = Field(description="counter that was not collected -> why")
    notes: list[str] = Field(description="why the collected data may be wrong")


class ProfileDocument(Document):
    """profile.json: the longest dispatch of the program's own kernels, with its resources, occupancy and roofline."""

    kernel: KernelIdentity = Field(description="the dispatch that this document is about")
    runtime_ms: float | None = Field(description="time in the program's own kernels, the median over runs")
    stability: StabilitySection = Field(description="how much runtime_ms varies from run to run")
    resources: Resources = Field(description="resources of the selected dispatch")
    occupancy: OccupancySection = Field(description="occupancy of the selected dispatch")
    roofline: RooflineSection | None = Field(
        description="all dispatches of the selected kernel under the roofline; null without counters"
    )
    passes: list[PassSection] = Field(
        default=[],
        description="counter passes and thread trace; empty for counters of the software device, which are in the base trace",
    )
    run: Run = Field(description="the only part that is specific to one run")


class MeasuredCeilings(Section):
    """The origin of measured ceilings."""

    source: str = Field(description="file of the measured ceilings")
    timing: Literal["measured", "modelled"] | None = Field(description="null if the file does not say")


class RooflineDocument(Document):
    """roofline.json: every kernel under the roofline of the device."""

    ceilings: MeasuredCeilings | None = Field(description="where measured ceilings come from; null without --ceilings")
    total: RooflineSection | None = Field(
        description="the program's own kernels together, ratios of sums; null if they ran on several devices"
    )
    kernels: list[RooflineSection] = Field(description="one object per kernel")


class EvidenceItem(Section):
    name: str = Field(description="e.g. wait_fraction")
    value: float | None = Field(description="e.g. 0.52")
    unit: str = Field(description="e.g. fraction")


class SignalSection(EvidenceItem):
    """A number and the threshold from which it indicates a class."""

    threshold: float = Field(description="value from which the number indicates the class")
    direction: Literal["at least", "at most"] = Field(
        description="whether the number must be at least or at most the threshold"
    )
    holds: bool | None = Field(description="whether the condition holds")
    counters: list[str] = Field(
        description="hardware counters from which the number is computed; empty if it comes from the trace itself"
    )
    rationale: str = Field(description="why this threshold")


class FindingSection(Section):
    name: str = Field(description="name of the factor")
    why: str = Field(description="explanation in words")
    evidence: list[EvidenceItem] = Field(description="the numbers behind it")


class ClassSection(Section):
    name: str = Field(description="name of the class")
    score: float | None = Field(
        description="0 to 1, from the numbers that are known; the class applies from 0.5; null if the numbers "
        "for it are missing"
    )
    at_least: float = Field(description="lower bound on the score, whatever the missing numbers are")
    at_most: float = Field(description="upper bound on the score, whatever the missing numbers are")
    signals: list[SignalSection] = Field(description="every number that determines the class")
    advice: list[str] = Field(description="what to try against it")


class RemedySection(Section):
    """A change to the program, and its gain according to the experiment that removes the cause."""

    cause: str = Field(description="the part of the time stack; `rocm-perf explain NAME` says what it means")
    change: str = Field(description="what change to the program comes close to removing the cause")
    line: str | None = Field(description="file:line that gains most if the cause is removed there alone")
    gain: float = Field(description="share of the kernel's time that is saved without this cause, by the model")
    gain_at_least: float | None = Field(
        description="lower bound on that share on a GPU in four of five cases; less than 0 if the kernel may become slower"
    )
    gain_at_most: float | None = Field(description="upper bound on that share on a GPU in the same cases")
    program_gain: float | None = Field(description="share of the GPU's span that is saved, with the critical path recomputed")
    then_dominant: str | None = Field(description="the kernel that then dominates the path")


class BottleneckSection(Section):
    name: str = Field(
        description="by counters, the class with the highest score, or unknown if no number indicates one; by experiments, the "
        "largest part of the kernel's time stack whose removal alone gains something"
    )
    by: Literal["counters", "experiments"] = Field(
        default="counters", description="experiments: from the time stack of one of its dispatches; counters: from rules"
    )
    why: str = Field(description="explanation in words")
    score: float | None = Field(
        description="by counters, score of that class, 0.5 to 1, or less if no class applies; by experiments, its share of "
        "the time"
    )
    confidence: float = Field(
        description="0 to 1: by counters, known share of the signals times (1 + lead over the next class) / 2; by experiments, "
        "the largest part over the sum of the two largest"
    )
    certainty: Literal["high", "medium", "low"] = Field(
        description="high: confidence >= 0.55 and no missing number could change the verdict; medium: confidence >= "
        "0.4; low: less, or no class applies and the nearest is named. By experiments, high from 0.6, medium from 0.525"
    )
    on_full_device: str | None = Field(
        description="what the largest part would be if the grid filled the device; null unless the verdict is that it does not"
    )
    remedies: list[RemedySection] = Field(
        default=[],
        description="by experiments, what to change and what that gains: first against the cause, unless others gain twice as "
        "much, then by gain, and the fixed cost of dispatches last; empty by counters",
    )
    evidence: list[SignalSection] = Field(
        description="the numbers that show the class, strongest first; empty by experiments, whose evidence is the time stack"
    )
    classes: list[ClassSection] = Field(
        description="verdict of the counters alone: all five classes with their scores, strongest first"
    )
    factors: list[FindingSection] = Field(description="conditions that explain the class or add detail")
    undecided: dict[str, str] = Field(description="other classes that the missing numbers could indicate -> what is missing")
    advice: list[str] = Field(description="what to try next, the most specific first")


class HeadroomSection(Section):
    ceiling_ms: float | None = Field(description="shortest possible time for the kernel's current work")
    binding: str | None = Field(
        description="what determines that time: a memory level, arithmetic, or VALU issue; by experiments, a part of the time "
        "stack"
    )
    fraction: float | None = Field(description="share of the kernel's time that could be saved: 1 - ceiling_ms / time")
    kernel_speedup: float | None = Field(description="current time / ceiling_ms")
    program_speedup: float | None = Field(description="speed-up of the GPU's span if the kernel reached its ceiling (Amdahl)")
    priority: float | None = Field(
        description="fraction times critical_path_score: upper bound on the gain in the GPU's span; work on the highest first"
    )
    by: Literal["counters", "experiments"] = Field(
        default="counters",
        description="experiments: the time left without all losses of the time stack; counters: the shortest time for the work",
    )
    assumption: str = Field(description="condition under which this holds")


class DurationsSection(Section):
    """Durations of the dispatches in the base run."""

    mean_ns: float = Field(description="mean")
    stddev_ns: float | None = Field(description="sample standard deviation")
    min_ns: int = Field(description="shortest dispatch")
    median_ns: float = Field(description="50th percentile")
    p95_ns: float = Field(description="95th percentile, interpolated linearly as numpy.percentile does")
    max_ns: int = Field(description="longest dispatch")


class ModelErrorSection(Section):
    """How far the model was from recorded times of programs to which its parameters were not fitted."""

    limit: Literal["launch", "latency", "bandwidth", "execution"] = Field(
        description="main determinant of the kernel's time: the fixed cost of a dispatch, waiting, bytes, or instructions"
    )
    within: float = Field(description="four of five measured times of such kernels differed by at most this fraction")
    times: int = Field(description="number of recorded times that were compared")
    programs: int = Field(description="number of programs whose times they are")


class SamplingSection(Section):
    dispatches: int = Field(
        description="number of its dispatches that were observed only on some XCDs, or began with unknown L2 contents"
    )
    time_error: float = Field(
        description="fraction by which its total time may be off, with 95 % confidence for sampled dispatches"
    )
    counter_errors: dict[str, float] = Field(
        description="estimated counter -> by how much its sum may be off, likewise; the others are exact"
    )


class KernelAnalysis(Section):
    kernel: str = Field(description="demangled name")
    symbol: str = Field(default="", description="mangled name")
    dispatches: int = Field(description="number of dispatches")
    workgroup: tuple[int, int, int] = Field(description="size of the longest dispatch, in work-items")
    grid: tuple[int, int, int] = Field(description="size of the longest dispatch, in work-items")
    time_ms: float | None = Field(description="total time in the base run")
    durations: DurationsSection | None = Field(description="durations of its dispatches")
    model_error: ModelErrorSection | None = Field(description="error to expect in modelled times; null for measured ones")
    operational_intensity: float | None = Field(description="FLOP per byte beyond L2")
    roofline_position: Literal["memory-bound", "compute-bound"] | None = Field(description="as in roofline.json")
    critical_path_score: float | None = Field(description="its share of the critical path, 0 to 1")
    bottleneck: BottleneckSection = Field(description="what holds it back")
    headroom: HeadroomSection = Field(description="what it could gain")
    resources: Resources = Field(description="figures for its longest dispatch")
    occupancy: OccupancySection = Field(description="figures for its longest dispatch")
    evidence: list[EvidenceItem] = Field(description="every number that a rule can use")
    counters: dict[str, float] = Field(
        default_factory=dict,
        description="hardware counter -> sum over all dispatches of the base run; `rocm-perf counters NAME` explains it",
    )
    sampling: SamplingSection | None = Field(
        default=None, description="errors of the figures estimated from a sample; null if everything was observed"
    )
    thread_trace: ThreadTraceSection | None = Field(
        description="what the waves of one dispatch did on one CU; null for kernels that were not traced"
    )
    triton: list[TritonSection] = Field(
        default_factory=list, description="facts that only Triton knows, one object per specialisation; empty for other kernels"
    )
    notes: list[str] = Field(description="known biases, and assumptions that were made")


class AnalysisDocument(Document):
    """analysis.json: what holds each kernel back, and its headroom."""

    kernels: list[KernelAnalysis] = Field(description="one object per kernel, most total time first")


class RankSummary(Section):
    rank: int | None = Field(description="number assigned by the launcher; null if the trace does not contain it")
    directory: str = Field(description="folder of its documents in the run directory")
    database: str = Field(description="file from which its times come")
    command: str = Field(description="the program and its arguments")
    host: str = Field(description="host name")
    pid: int = Field(description="process id")
    gpu: str = Field(description="product")
    timing: Literal["measured", "modelled"] = Field(description="as in the other documents")
    dispatches: int = Field(description="number of dispatches")
    kernel_time_ms: float | None = Field(description="time in the program's own kernels")
    span_ms: float | None = Field(description="from the first start to the last end on its GPUs")
    dominant_symbol: str | None = Field(description="as in dag.json")
    fraction: float | None = Field(description="as in dag.json")


class KernelOverRanks(Section):
    kernel: str = Field(description="demangled name")
    ranks: int = Field(description="number of ranks that launched it")
    dispatches: int = Field(description="number of dispatches")
    total_ms: float | None = Field(description="total time over all ranks")
    min_ms: float | None = Field(description="shortest time among the ranks that launched it")
    max_ms: float | None = Field(description="longest time among the ranks")
    imbalance: float | None = Field(description="max / mean over all ranks; 1 is balanced")


class SummaryDocument(Section):
    """summary.json: several ranks side by side."""

    schema_version: Literal["1.0"] = Field(default=SCHEMA_VERSION, description="version of the schema")
    tool: Tool = Field(description="what wrote the document")
    ranks: list[RankSummary] = Field(description="one object per rank, in order of their numbers")
    slowest_rank: int | None = Field(description="index in `ranks` of the rank with the longest span")
    kernels: list[KernelOverRanks] = Field(description="one object per kernel, most total time first")
    notes: list[str] = Field(description="assumptions that were made, and ranks that are left out")


class TracedKernel(Section):
    kernel: str = Field(description="demangled name")
    symbol: str = Field(description="mangled name")
    bottleneck: BottleneckSection = Field(description="as in analysis.json, from the thread trace alone")
    thread_trace: ThreadTraceSection = Field(description="as in analysis.json")


class ThreadTraceDocument(Section):
    """The document that `rocm-perf analyze --json` prints for thread traces without a database."""

    schema_version: Literal["1.0"] = Field(default=SCHEMA_VERSION, description="version of the schema")
    tool: Tool = Field(description="what wrote the document")
    kernels: list[TracedKernel] = Field(description="one object per traced kernel, most traced instructions first")
    notes: list[str] = Field(description="what a thread trace alone cannot show, and traces without usable data")
