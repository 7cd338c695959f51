"""What `rocm-perf isolate --json` prints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rocm_perf_lab.isolate.capture_directory import Capture
from rocm_perf_lab.json_model import JsonModel, Text


class IsolateDocument(JsonModel):
    """A capture, and how the program ended."""

    capture: Text = Field(description="the capture directory")
    kernel: Text = Field(description="demangled name")
    symbol: Text = Field(description="mangled name")
    target: str = Field(description="LLVM target of the GPU")
    outcome: Literal["completed", "failed"] = Field(description="how the captured dispatch ended")
    timing: Literal["measured", "modelled"] = Field(description="measured or modelled")
    gpu_time_ns: int | None = Field(description="duration of the captured dispatch, in ns; null if it failed")
    regions: int = Field(description="number of captured memory regions")
    bytes: int = Field(description="total size of the regions")
    changed_bytes: int = Field(description="total size of the pages that the kernel changed")
    program_status: int = Field(description="the program's exit status, as a shell sees it")


def isolate_document(capture: Capture, program_status: int) -> IsolateDocument:
    dispatch = capture.dispatch
    return IsolateDocument(
        capture=str(capture.path),
        kernel=capture.kernel,
        symbol=capture.symbol,
        target=capture.target,
        outcome=dispatch["outcome"],
        timing=dispatch["origin"]["timing"],
        gpu_time_ns=None if dispatch["outcome"] == "failed" else capture.gpu_time_ns,
        regions=len(capture.regions),
        bytes=sum(region.bytes for region in capture.regions),
        changed_bytes=capture.changed_bytes,
        program_status=program_status,
    )
