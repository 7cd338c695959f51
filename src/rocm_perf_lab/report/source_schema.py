"""source.json: kernels' code next to its source; see schema.py."""

from __future__ import annotations

from pydantic import Field

from rocm_perf_lab.report.schema import Document
from rocm_perf_lab.report.section_base import Section


class Excerpt(Section):
    first: int = Field(description="number of the first line")
    text: list[str] = Field(description="the lines")


class SourceFile(Section):
    path: str = Field(description="as in the code's line numbers")
    name: str = Field(description="the path without the folders that all of the program's files have in common")
    excerpts: list[Excerpt] | None = Field(
        description="the lines that belong to the kernels' code, and some around them; null if the file cannot be shown"
    )


class SourceLocation(Section):
    file: int = Field(description="index into files")
    line: int = Field(description="number of the line")


class CodeInstruction(Section):
    address: int = Field(description="address in the code object, which distinguishes equal instructions")
    isa: str = Field(description="assembly")
    places: list[SourceLocation] = Field(
        description="its source line, then the places into which that was inlined; empty without line numbers"
    )


class InstructionCost(Section):
    hits: int = Field(description="executions by traced waves")
    latency_cycles: int = Field(description="sum of latencies, including stalls")
    stall_cycles: int = Field(description="sum of stalls")
    idle_cycles: int = Field(description="total time before the instruction in which the wave had nothing to issue")
    share: float = Field(description="(latency + idle) / all cycles of the waves")


class LineCost(Section):
    place: SourceLocation = Field(description="the innermost location of its instructions")
    hits: int = Field(description="executions of its instructions by traced waves")
    latency_cycles: int = Field(description="sum over its instructions")
    stall_cycles: int = Field(description="sum over its instructions")
    idle_cycles: int = Field(description="sum over its instructions")
    share: float = Field(description="share of the waves' cycles")
    waited_cycles: int = Field(description="cycles for which waves stalled, at any line, until an access by this line was done")


class AwaitedAccess(Section):
    address: int = Field(description="address of the access")
    times: int = Field(description="number of waits for it")
    ended: int = Field(description="number of waits that it ended, being the last access")
    waited_cycles: int = Field(description="cycles of the waits that it ended")


class CodeWait(Section):
    address: int = Field(description="address of the wait instruction")
    accesses: list[AwaitedAccess] = Field(description="what it waited for, most cycles first")
    unexplained_cycles: int = Field(description="cycles of waits for which the access that ended them is unknown")


class SourceKernel(Section):
    """A kernel's instructions. costs, lines and waits come from a thread trace and are null without one."""

    kernel: str = Field(description="demangled name")
    symbol: str = Field(description="mangled name")
    waves: int | None = Field(description="traced waves")
    instructions: list[CodeInstruction] | None = Field(description="its code, by ascending address; null if it cannot be shown")
    left_out: int = Field(description="instructions left out because they have few cycles; approximate without a trace")
    costs: list[InstructionCost] | None = Field(description="one object per instruction, in the same order")
    lines: list[LineCost] | None = Field(description="lines that ran, most cycles first")
    waits: list[CodeWait] | None = Field(description="wait instructions, longest stalls first")


class SourceDocument(Document):
    """source.json: each kernel's instructions next to its source."""

    files: list[SourceFile] = Field(description="the source files")
    kernels: list[SourceKernel] = Field(description="one object per kernel, most total time first")
