"""What `rocm-perf gate --json` prints."""

from __future__ import annotations

from pydantic import Field

from rocm_perf_lab.gate.verdict_document import StepSection, Timing
from rocm_perf_lab.json_model import JsonModel, Text


class GateDocument(JsonModel):
    """The verdict on one candidate."""

    baseline: Text = Field(description="the source that was changed")
    candidate: Text = Field(description="the source that was judged")
    kernel: Text | None = Field(description="demangled name; null if the source alone decided")
    device: str | None = Field(description="product name of the GPU; null if nothing ran")
    timing: Timing | None = Field(description="measured or modelled; null if nothing ran")
    timing_parameters: str | None = Field(
        description="identifies the timing model's parameters; null if times are measured or nothing ran"
    )
    equivalence: str = Field(description="level of comparison: full, sampled or program")
    ulps: int = Field(description="allowed difference of floating-point results, in units in the last place")
    accepted: bool = Field(description="whether every step passed, or was skipped by the user's choice")
    undecided: str | None = Field(
        description="why the timing model cannot tell whether an accepted candidate is faster on a GPU; null if it can, "
        "if times are measured, or if the candidate is not accepted"
    )
    steps: list[StepSection] = Field(
        description="one object per step, in order; after them, the step of another instantiation that rejected"
    )
    adopted: Text | None = Field(
        description="the source to keep if the candidate is accepted; null if nothing was taken from the candidate, "
        "and for Triton kernels"
    )
