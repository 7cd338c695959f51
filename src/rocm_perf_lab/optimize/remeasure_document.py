"""The document that `rocm-perf optimize --remeasure --json` prints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rocm_perf_lab.json_model import JsonModel, Text


class RemeasuredSection(JsonModel):
    """An accepted change, remeasured. Ratios are times with the change divided by times before it."""

    iteration: int = Field(description="number of the iteration, from 1")
    kernel: Text = Field(description="demangled name")
    description: Text = Field(description="what was changed")
    predicted: float | None = Field(description="ratio of the kernel's time in the program, found by the run; null if unknown")
    recorded: float | None = Field(description="the same ratio now, of medians; null if there is no time, see complaint")
    interval: tuple[float, float] | None = Field(description="its 95 % interval, by resampling; null as above")
    predicted_program: float | None = Field(description="ratio of the time in all kernels, found by the run; null if unknown")
    recorded_program: float | None = Field(description="the same ratio now, of medians; null as above")
    complaint: Text | None = Field(description="why there is no ratio, or what is wrong with the output; null if nothing is")


class RemeasureDocument(JsonModel):
    """The accepted changes of a run, remeasured."""

    run: Text = Field(description="folder of the run, with its journal")
    device: str = Field(description="product name of the device")
    timing: Literal["measured", "modelled"] = Field(description="measured or modelled, now")
    predicted_timing: Literal["measured", "modelled"] = Field(description="the same for the run")
    rounds: int = Field(description="how often each program ran, interleaved with the others")
    changes: list[RemeasuredSection] = Field(description="one object per accepted change, in order")
    table: Text | None = Field(description="file of the model's errors to which the changes were added; null if none was added")
    error_for_differences: float | None = Field(description="the model's error for differences now; null if not known")
