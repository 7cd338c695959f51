"""The section about a Triton kernel in analysis.json."""

from __future__ import annotations

from pydantic import Field

from rocm_perf_lab.report.section_base import Section


class SharedLayoutSection(Section):
    kind: str = Field(description="Triton's name for it, such as swizzled_shared")
    parameters: str = Field(description="its parameters, as in TTGIR")
    spreads: bool = Field(description="whether rows begin in different banks")


class TritonSection(Section):
    function: str = Field(description="name of the function")
    file: str = Field(description="file of the function")
    line: int = Field(description="its first line")
    version: str = Field(description="version of Triton")
    constants: dict[str, str] = Field(description="constexpr parameter -> value")
    options: dict[str, int] = Field(description="compilation option -> value")
    matrix_instructions: dict[str, int] = Field(description="matrix instruction -> how often it is in the code")
    dots: int = Field(description="number of tl.dot in TTGIR, after loops were unrolled and pipelined")
    loads: dict[int, int] = Field(description="bits that a load from memory reads per lane -> how often it is in the code")
    stages: int | None = Field(description="number of a loop's stages that overlap; 1: none do")
    buffers: int = Field(description="number of LDS buffers that a pipelined loop has per tile; 0: none")
    spilled: int = Field(description="number of VGPRs spilled to memory")
    operations: dict[int, list[str]] = Field(description="line of the file -> its operations in TTGIR, without constants")
    layouts: list[SharedLayoutSection] = Field(description="layouts of tiles in the LDS")
    raise_occupancy: list[str] = Field(description="options and block sizes that would allow more resident waves, in words")
