"""The contents of a thread trace, as columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers


class Category(IntEnum):
    """The kind of an instruction, as numbered by rocprofv3's decoder."""

    SMEM = 1
    SALU = 2
    VMEM = 3  # buffer
    FLAT = 4  # flat, global, scratch
    LDS = 5
    VALU = 6  # including matrix instructions
    JUMP = 7  # a branch that was taken
    NEXT = 8  # a branch that was not taken
    IMMEDIATE = 9  # s_waitcnt, s_barrier, s_nop: instructions that stay in the instruction buffer
    CONTEXT = 10
    MESSAGE = 11  # also the end of the program
    BVH = 12


@dataclass(frozen=True)
class TracedCode:
    """The instructions of the traced code, one row each, in the order of `line`; all cycle counts are sums over the waves.

    line: LineNumber, by which waves refer to a row. text: assembly. source: the instruction's "file:line" and, if that code was
    inlined, each place that it was inlined into, separated by " -> "; "" without debug information.
    kernel: index into `kernels`, -1 if unknown. kernels: (mangled, demangled) names.
    """

    line: Integers
    text: list[str]
    source: list[str]
    code_object: Integers
    vaddr: Integers
    hits: Integers
    latency: Integers
    stall: Integers
    idle: Integers
    kernel: Integers
    kernels: list[tuple[str, str]]

    SUMS = ("hits", "latency", "stall", "idle")

    def __len__(self) -> int:
        return len(self.text)

    def by_address(self) -> TracedCode:
        """The same rows, ordered by code object and address."""
        order = np.lexsort((self.vaddr, self.code_object))
        columns = {name: getattr(self, name)[order] for name in ("line", "code_object", "vaddr", "kernel", *self.SUMS)}
        text, source = ([column[row] for row in order.tolist()] for column in (self.text, self.source))
        return replace(self, text=text, source=source, **columns)


@dataclass(frozen=True)
class Wave:
    """The life of a wave on a SIMD, in cycles of the shader clock.

    records: int64[n, 5]: the time when the instruction became the next in order, category, stall, latency (including the
    stall), line. truncated: the number of instructions that the trace lost.
    """

    file: str
    engine: int
    cu: int
    simd: int
    slot: int
    begin: int
    end: int
    records: Integers = field(repr=False)
    truncated: int = 0

    @property
    def time(self) -> Integers:
        return self.records[:, 0]

    @property
    def category(self) -> Integers:
        return self.records[:, 1]

    @property
    def stall(self) -> Integers:
        return self.records[:, 2]

    @property
    def latency(self) -> Integers:
        return self.records[:, 3]

    @property
    def line(self) -> Integers:
        return self.records[:, 4]

    @property
    def last(self) -> int:
        """The end of the wave or of its last instruction, which can be slightly later."""
        return max(self.end, int((self.time + self.latency).max(initial=self.end)))


@dataclass(frozen=True)
class WaveEvents:
    """Starts and ends of waves on all traced CUs. For each engine, int64[n, 6]: time, CU, SIMD, slot, 1 for a start, kernel."""

    engines: dict[int, Integers]


@dataclass(frozen=True)
class ThreadTrace:
    """One traced dispatch. Fields that could not be read are None, and `missing` gives the reason under the field's name.

    folder: the ui_output folder, or the CSV if there is none. dispatch: the number in the file's name, None if there is none.
    gfxip: 9 for gfx9. clock_mhz: the shader clock during the trace.
    """

    folder: Path
    dispatch: int | None
    gfxip: int | None
    clock_mhz: float | None
    code: TracedCode | None
    waves: list[Wave] | None
    events: WaveEvents | None
    missing: dict[str, str]

    @property
    def kernel(self) -> tuple[str, str] | None:
        """(mangled, demangled) name of the kernel with the most cycles; None if unknown."""
        if self.code is None or not self.code.kernels:
            return None
        known = self.code.kernel >= 0
        cycles = np.bincount(self.code.kernel[known], self.code.latency[known], minlength=len(self.code.kernels))
        return self.code.kernels[int(np.argmax(cycles))]
