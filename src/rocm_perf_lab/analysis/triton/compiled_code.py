"""What Triton compiled a kernel to: matrix instructions, load widths, loop stages, LDS layouts and spills."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from rocm_perf_lab.analysis.triton.kernel_descriptions import DescribedKernel

_MATRIX = re.compile(r"^\s+(v_(?:smfmac|mfma)_\w+)", re.MULTILINE)
_LOAD = re.compile(
    r"^\s+(?:global|buffer|flat)_load_(?:lds_)?(dword(?:x(\d))?|[su]?(?:byte|short)(?:_d16(?:_hi)?)?)\b", re.MULTILINE
)
_SPILLS = re.compile(r"^\s*\.vgpr_spill_count:\s*(\d+)", re.MULTILINE)
_BUFFERS = re.compile(r"ttg\.local_alloc : \(\) -> !ttg\.memdesc<(\d+)x\d[^>]*, mutable>")
_INTO_LDS = re.compile(r"\b(?:buffer_load_to_local|async_copy_global_to_local)\b")
_SHARED = re.compile(r"^#(\w+) = #ttg\.(\w*shared\w*)<\{(.*)\}>", re.MULTILINE)
_PHASES = re.compile(r"maxPhase = (\d+)")


@dataclass(frozen=True)
class SharedLayout:
    """kind: for example "swizzled_shared". parameters: as written in TTGIR. spreads: whether rows begin in different banks."""

    kind: str
    parameters: str
    spreads: bool


@dataclass(frozen=True)
class CompiledKernel:
    """matrix_instructions: instruction -> how often it occurs in the code. loads: bits that a memory load fetches per lane ->
    how often such loads occur.

    stages: how many stages of a loop overlap, 1 if none do; None without a loop. buffers: how many buffers the LDS holds per
    tile. spilled: registers per lane that are kept in memory instead.
    """

    matrix_instructions: dict[str, int]
    loads: dict[int, int]
    spilled: int
    dots: int
    stages: int | None
    buffers: int
    layouts: tuple[SharedLayout, ...]


def compiled(kernel: DescribedKernel) -> CompiledKernel:
    buffers = max((int(count) for count in _BUFFERS.findall(kernel.ttgir)), default=0)
    spills = _SPILLS.search(kernel.amdgcn)
    return CompiledKernel(
        matrix_instructions=dict(sorted(Counter(_MATRIX.findall(kernel.amdgcn)).items())),
        loads=dict(sorted(Counter(_bits(*load) for load in _LOAD.findall(kernel.amdgcn)).items())),
        spilled=int(spills[1]) if spills else 0,
        dots=len(re.findall(r"\btt\.dot\b", kernel.ttgir)),
        stages=_stages(kernel.ttgir, buffers),
        buffers=buffers,
        layouts=tuple(_layouts(kernel.ttgir)),
    )


def _bits(unit: str, words: str) -> int:
    if unit.startswith("dword"):
        return 32 * int(words or 1)
    return 8 if "byte" in unit else 16


def _stages(ttgir: str, buffers: int) -> int | None:
    """The number of stages: 1 without buffers, else one per buffer, plus one for loads via registers; None without a loop."""
    if "scf.for" not in ttgir:
        return None
    if not buffers:
        return 1
    return buffers if _INTO_LDS.search(ttgir) else buffers + 1


def _layouts(ttgir: str) -> list[SharedLayout]:
    """The layouts that are actually used, not merely defined."""
    used = [match for match in _SHARED.findall(ttgir) if len(re.findall(rf"#{match[0]}\b", ttgir)) > 1]
    return [SharedLayout(kind, parameters, _spreads(kind, parameters)) for _, kind, parameters in used]


def _spreads(kind: str, parameters: str) -> bool:
    phases = _PHASES.search(parameters)
    return kind == "padded_shared" or phases is None or int(phases[1]) > 1
