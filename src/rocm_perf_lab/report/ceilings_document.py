"""ceilings.json, which `rocm-perf ceilings --json` prints as well."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rocm_perf_lab.report.schema import SCHEMA_VERSION, Tool
from rocm_perf_lab.report.section_base import Section


class LevelCeiling(Section):
    """The rate that a level of the memory hierarchy reached."""

    level: str = Field(description="HBM, MALL, L2, L1 or LDS")
    unit: Literal["GB/s"] = Field(default="GB/s", description="unit of the rates")
    value: float | None = Field(description="median rate; null if the benchmark failed")
    low: float | None = Field(description="lowest rate; null if the benchmark failed")
    high: float | None = Field(description="highest rate; null if the benchmark failed")


class PipeCeiling(Section):
    """The rate that a pipe reached in one precision."""

    precision: str = Field(description="f8, f16, bf16, xf32, f32, f64 or i8")
    pipe: Literal["valu", "mfma"] = Field(description="vector ALU or matrix unit")
    unit: Literal["GFLOP/s", "GOP/s"] = Field(description="unit of the rates; GOP/s for i8")
    value: float | None = Field(description="median rate; null if the benchmark failed")
    low: float | None = Field(description="lowest rate; null if the benchmark failed")
    high: float | None = Field(description="highest rate; null if the benchmark failed")


class CeilingsDocument(Section):
    """ceilings.json: rates that microbenchmarks reached on a device."""

    schema_version: Literal["1.0"] = Field(default=SCHEMA_VERSION, description="version of the schema")
    tool: Tool = Field(description="what wrote the document")
    target: str = Field(description="LLVM target")
    device: str = Field(description="description of the device")
    timing: Literal["measured", "modelled"] = Field(description="measured or modelled")
    effort: Literal["full", "brief"] = Field(description="brief on the software device: a quarter of the work")
    repeats: int = Field(description="measurements per benchmark")
    ceilings: list[LevelCeiling | PipeCeiling] = Field(description="one object per ceiling")
