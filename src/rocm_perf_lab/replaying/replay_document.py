"""The documents that `rocm-perf replay --json` prints. rocmperf-replay writes them (native/replay/report.cpp)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rocm_perf_lab.json_model import JsonModel


class ReplayedKernel(JsonModel):
    """What was run."""

    name: str = Field(description="demangled name")
    symbol: str = Field(description="mangled name")
    hsaco_path: str = Field(description="file of the code object that was run")
    replaced: bool = Field(description="whether it replaces the captured one (--hsaco)")
    grid: tuple[int, int, int] = Field(description="size in work-items, x, y and z")
    workgroup: tuple[int, int, int] = Field(description="size in work-items, x, y and z")
    dynamic_lds: int = Field(description="bytes of LDS per workgroup, in addition to those that the kernel declares")
    launch_as_captured: bool = Field(
        description="whether the launch has the captured shape (no --groups, --group-size or --dynamic-lds)"
    )


class Execution(JsonModel):
    """How it was run."""

    iterations: int = Field(description="number of timed runs")
    mode: Literal["stateless", "stateful"] = Field(
        description="stateless: memory was restored before each run; stateful: each continued where the previous one ended"
    )
    warmup: int = Field(description="number of untimed runs before the timed ones")
    flush_cache: bool = Field(description="whether caches were emptied before each run")
    poison: int | None = Field(
        description="byte that overwrote the memory that the captured kernel changed; null without --poison"
    )


class RunStatistics(JsonModel):
    """Statistics over the timed runs, in ms."""

    average: float = Field(description="mean, in ms")
    min: float = Field(description="shortest, in ms")
    max: float = Field(description="longest, in ms")
    median: float = Field(description="median, in ms")
    stddev: float = Field(description="standard deviation, in ms")
    cv: float = Field(description="stddev / average")
    classification: Literal["stable", "moderate", "unstable"] = Field(
        description="stable: cv <= 0.05, moderate: cv <= 0.10, unstable: cv > 0.10"
    )


class CountedSection(JsonModel):
    """The software device's counts for the last run."""

    instructions: float = Field(description="number of instructions that waves executed")
    requests_beyond_l2: float = Field(description="number of requests from L2 to memory")


class ReplayTiming(JsonModel):
    """The kernel's time on the GPU, and what else took time."""

    unit: Literal["ms"] = Field(description="unit of all times")
    source: Literal["measured", "modelled"] = Field(description="measured or modelled")
    average: float = Field(description="mean GPU time, in ms")
    min: float = Field(description="shortest GPU time, in ms")
    max: float = Field(description="longest GPU time, in ms")
    median: float = Field(description="median GPU time, in ms")
    stddev: float = Field(description="standard deviation of the GPU time, in ms")
    cv: float = Field(description="stddev / average")
    classification: Literal["stable", "moderate", "unstable"] = Field(
        description="stable: cv <= 0.05, moderate: cv <= 0.10, unstable: cv > 0.10"
    )
    iterations: list[float] = Field(description="GPU time of each run, in ms")
    counted: CountedSection | None = Field(description="counts of the software device for the last run; null on a GPU")
    wait: RunStatistics = Field(description="time, on the host's clock, from ringing the doorbell to observing completion")
    restore: RunStatistics | None = Field(description="time taken to restore memory; null with --no-recopy")
    setup: float = Field(description="time until the first run could begin, in ms")
    total_wall: float = Field(description="total time of all runs, including the time between them, in ms")


class ReplayedCapture(JsonModel):
    """The capture."""

    directory: str = Field(description="the capture directory")
    regions: int = Field(description="number of captured memory regions")
    bytes: int = Field(description="total size of the regions")
    gpu_time_ms: float = Field(description="duration of the captured dispatch, in ms")
    placement: str = Field(description="how memory was placed at the captured addresses")
    not_captured: list[str] = Field(description="memory that the kernel could reach but that is missing from the capture")
    warnings: list[str] = Field(description="other reasons why the replay may differ")


class ComparedRegion(JsonModel):
    """One memory region after the last run, compared with the capture."""

    base: str = Field(description="address, hexadecimal")
    bytes: int = Field(description="size")
    kind: Literal["device", "host", "registered", "managed", "mapped", "code"] = Field(description="kind of memory")
    equal: bool = Field(description="whether its contents are as captured, within the tolerance")
    expected_changed_bytes: int = Field(description="number of bytes that the captured kernel changed")
    differing_bytes: int = Field(description="number of bytes that differ")
    bytes_beyond_tolerance: int = Field(description="number of bytes in numbers that differ by more than the tolerance")
    first_difference: str | None = Field(description="address of the first difference, hexadecimal; null if there is none")
    largest_relative_error: float | None = Field(description="largest relative error; null without --tolerance")


class Comparison(JsonModel):
    """The memory after the last run, compared with the capture."""

    equal: bool = Field(description="whether all regions are equal")
    mode: Literal["exact", "tolerance"] = Field(description="tolerance: numbers were compared with --tolerance")
    regions: list[ComparedRegion] = Field(description="one object per region")


class ReplayEnvironment(JsonModel):
    """Where it was run."""

    gpu_agent: str = Field(description="name of the agent, e.g. gfx942")
    product: str | None = Field(description="product name of the GPU; null if not known")
    device: str | None = Field(description="the software device; null on a GPU")
    rocm_version: str | None = Field(description="version of ROCm; null if not known")
    hsa_version: str = Field(description="version of ROCr")
    pid: int = Field(description="process id of the replay")


class FullVmDocument(JsonModel):
    """One replayed dispatch."""

    schema_version: Literal["1.0"] = Field(description="version of the schema")
    kernel: ReplayedKernel = Field(description="what was run")
    execution: Execution = Field(description="how it was run")
    timing: ReplayTiming = Field(description="the kernel's time on the GPU, and what else took time")
    capture: ReplayedCapture = Field(description="the capture")
    comparison: Comparison | None = Field(description="memory after the last run; null without --compare")
    environment: ReplayEnvironment = Field(description="where it was run")


class CheckedCapture(JsonModel):
    """The capture."""

    directory: str = Field(description="the capture directory")


class CheckedRange(JsonModel):
    """One captured range of addresses."""

    base: str = Field(description="its captured address, hexadecimal")
    bytes: int = Field(description="size")
    outcome: Literal["exact", "relocated", "failed"] = Field(description="whether it can be mapped there")
    got: str | None = Field(description="address that can be mapped, hexadecimal; null if none can")
    why: str | None = Field(description="why it cannot be mapped exactly; null if it can")


class ReserveCheckDocument(JsonModel):
    """Whether captured addresses can be mapped."""

    schema_version: Literal["1.0"] = Field(description="version of the schema")
    capture: CheckedCapture = Field(description="the capture")
    outcome: Literal["exact", "relocated", "failed"] = Field(description="outcome for all ranges together, as in the exit code")
    ranges: list[CheckedRange] = Field(description="one object per range")
