"""What the optimizer knows of a HIP source: kernels, their parameters and loops, and what a loop holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from rocm_perf_lab.hip_source.demangle import demangled


class Construct(str, Enum):
    """What may stand in a loop and forbid changing the order or number of its iterations' instructions."""

    BARRIER = "barrier"
    WAVE_OPERATION = "wave operation"
    ATOMIC = "atomic"
    DYNAMIC_LDS = "dynamic LDS"
    VOLATILE = "volatile access"
    INLINE_ASM = "inline assembly"
    UNKNOWN_CALL = "call of a function whose body is not seen"
    INDIRECT_CALL = "call through a pointer"
    SIDE_EFFECT = "side effect outside memory"
    JUMP = "goto or label"


@dataclass(frozen=True)
class ConstructUse:
    """One construct where it was found. what: its name in the source (`__syncthreads`). via: the calls that lead there."""

    construct: Construct
    what: str
    line: int
    via: tuple[str, ...] = ()

    def __str__(self) -> str:
        path = f" through {' -> '.join(self.via)}" if self.via else ""
        return f"{self.construct.value} {self.what}{path} (line {self.line})"


@dataclass(frozen=True)
class Span:
    """Bytes [start, end) of a file, and the line (from 1) that `start` lies on."""

    start: int
    end: int
    line: int


@dataclass(frozen=True)
class Stride:
    """Of `for (...; i < bound; i += step)` on 32-bit integers, where nothing in the body changes bound or step, and the body
    is left at its end alone. bound, step: source text. increment: where `i += step` stands."""

    bound: str
    step: str
    increment: Span


@dataclass(frozen=True)
class Loop:
    """One loop of a kernel.

    kind: for | while | do | range-for. body: its statement, braces included.
    variable, step: of a counted loop (`for (T i = a; i < b; i += step)`, i unchanged in the body), else None.
    stride: of a counted loop that goes up by anything that stays the same, else None.
    trip_count: iterations where Clang knows them, else None. hint: an unroll pragma or attribute of the author's.
    in_macro: written by a macro, at least in part. found: the constructs in it, those of called functions included.
    loads: array and pointer reads written in the body, as source text. children: loops directly inside.
    """

    kind: str
    span: Span
    body: Span
    depth: int
    variable: str | None
    step: int | None
    trip_count: int | None
    hint: bool
    in_macro: bool
    found: tuple[ConstructUse, ...]
    loads: tuple[str, ...]
    children: tuple[Loop, ...] = ()
    stride: Stride | None = None

    @property
    def innermost(self) -> bool:
        return not self.children

    def walk(self) -> Iterator[Loop]:
        """This loop and all inside, outermost first."""
        left = [self]
        while left:
            loop = left.pop()
            yield loop
            left += reversed(loop.children)


@dataclass(frozen=True)
class KernelParameter:
    """A kernel parameter: type as written, its canonical form, and for pointers the canonical type they point to."""

    name: str
    type: str
    canonical: str
    pointee: str | None
    const_pointee: bool
    restrict: bool
    span: Span


@dataclass(frozen=True)
class SourceKernel:
    """A `__global__` function with a body.

    identity: Clang's USR, which tells overloads, scopes and template heads apart. name: qualified. symbol: mangled, None for
    templates (their instantiations have one each). declaration: where it begins, `extern "C"` included; span begins behind
    that. c_linkage: it stands between the braces of an `extern "C"`. in_class: it is a static member.
    template: the text of `template <...>`, None otherwise. attributes: text of each, `__launch_bounds__(256)` among them.
    """

    identity: str
    name: str
    symbol: str | None
    file: Path
    declaration: int
    c_linkage: bool
    in_class: bool
    span: Span
    body: Span
    parameters: tuple[KernelParameter, ...]
    template: str | None
    attributes: tuple[str, ...]
    loops: tuple[Loop, ...]

    @property
    def last_name(self) -> str:
        return self.name.rsplit("::", 1)[-1]

    @property
    def demangled(self) -> str | None:
        """As a trace shows it; None for templates."""
        return demangled(self.symbol) if self.symbol is not None else None

    def all_loops(self) -> Iterator[Loop]:
        """Every loop, outermost first, in source order."""
        for loop in self.loops:
            yield from loop.walk()
