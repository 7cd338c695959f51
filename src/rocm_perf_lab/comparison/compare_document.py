"""What `rocm-perf compare --json` prints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rocm_perf_lab.json_model import JsonModel, Text

Unit = Literal["ns", "", "bytes", "waves/CU"]
Shape = tuple[int, int, int]


class IntervalSection(JsonModel):
    """How certain a measured change of time is."""

    low: float = Field(description="lower end of new / base")
    high: float = Field(description="upper end")
    confidence: float = Field(description="confidence of this interval alone; that of all intervals together is 0.999")
    method: Literal["runs", "dispatches"] = Field(
        description="source of the variation: runs (Welch's interval over the runs of each side) or dispatches (bootstrap over "
        "those of the only run; how much runs differ is not known)"
    )


class ChangeSection(JsonModel):
    """A number on both sides."""

    metric: str = Field(description="name, as for --fail-on")
    unit: Unit = Field(description="unit of base and new; empty for counts")
    base: float | None = Field(description="value on the base side, the mean of its runs; null where it is not known")
    new: float | None = Field(description="value on the new side; null where it is not known")
    change: float | None = Field(description="new / base - 1; null if either is unknown or base is 0")
    interval: IntervalSection | None = Field(
        description="for measured times; null for other numbers, for modelled times, which do not vary, and with too few runs"
    )
    why_no_interval: str | None = Field(description="why a measured time has no interval; null otherwise")
    verdict: Literal["same", "more", "less", "undecided"] = Field(
        description="undecided: a value is unknown, a measured time has no interval, or its interval includes both no change "
        "and changes of more than 1 %"
    )


class KernelSection(JsonModel):
    """A kernel that exists on both sides."""

    kernel: Text = Field(description="demangled name on the new side")
    was: Text | None = Field(description="demangled name on the base side; null if it is the same")
    grid: tuple[Shape, Shape] = Field(description="work-items of the longest dispatch in x, y and z, on either side")
    workgroup: tuple[Shape, Shape] = Field(description="the same for a workgroup")
    matched_by: Literal["name", "function name", "code", "launch shape"] = Field(
        description="how it was matched: by name; by the name without namespace, template arguments and parameters; by machine "
        "code, or else registers and executed instructions; by workgroup, grid and number of dispatches"
    )
    is_runtime: bool = Field(description="whether it belongs to the HIP runtime")
    share: float | None = Field(description="share of the time in kernels on the base side; null without times")
    bottleneck: tuple[str | None, str | None] = Field(description="bottleneck class on either side; null where it is not known")
    changes: list[ChangeSection] = Field(description="times, shape, registers, memory, occupancy")
    counters: dict[str, tuple[float, float]] = Field(description="counters that changed: sums over a run on either side")
    same_counters: list[str] = Field(description="counters that did not change")


class LimitSection(JsonModel):
    """A limit given with --fail-on, and its result."""

    limit: str = Field(description="as it was given")
    exceeded: bool = Field(description="whether it is exceeded")
    by: list[Text] = Field(description="what exceeds it: a kernel or the program, and its change")
    undecided: list[Text] = Field(description="what may exceed it, but varies too much to say, or cannot be compared")


class SideSection(JsonModel):
    """What was compared."""

    path: Text = Field(description="as it was given")
    command: Text = Field(description="the program and its arguments")
    gpu: str = Field(description="product")
    target: str = Field(description="LLVM target")
    timing: Literal["measured", "modelled"] = Field(description="modelled: times come from the software device's timing model")
    timing_parameters: str | None = Field(description="identifies the timing model's parameters; null if not known")
    runs: int = Field(description="number of runs")


class ComparisonSection(JsonModel):
    """One new side compared with the base side."""

    new: SideSection = Field(description="the new side")
    model_error: float | None = Field(
        description="by what fraction the ratio of two modelled times may be off on a GPU; null for measured times and where "
        "it is not known"
    )
    program: list[ChangeSection] = Field(description="kernel_time and span of the whole program")
    kernels: list[KernelSection] = Field(description="kernels of both sides, those with the most time first")
    gone: list[Text] = Field(description="kernels on the base side only")
    added: list[Text] = Field(description="kernels on the new side only")
    limits: list[LimitSection] = Field(description="one object per --fail-on")
    notes: list[Text] = Field(description="what to keep in mind")


class CompareDocument(JsonModel):
    """A base and one or more new sides."""

    base: SideSection = Field(description="the base side")
    comparisons: list[ComparisonSection] = Field(description="one object per new side")
    exceeded: bool = Field(description="whether any limit is exceeded")
