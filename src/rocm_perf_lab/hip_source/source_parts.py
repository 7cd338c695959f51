"""The optimizer's model of a HIP source: kernels, their parameters and loops, and what a loop contains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from rocm_perf_lab.hip_source.demangle import demangled


class ObstacleKind(str, Enum):
    """Kinds of code that may forbid a change to the order or number of the instructions that a loop executes. Each
    transformation says which of them it tolerates.
    """

    BARRIER = "barrier"
    WAVE_OPERATION = "wave operation"
    ATOMIC = "atomic"
    DYNAMIC_LDS = "dynamic LDS"
    VOLATILE = "volatile access"
    INLINE_ASM = "inline assembly"
    UNKNOWN_CALL = "call of a function whose body is not visible"
    INDIRECT_CALL = "call through a pointer"
    SIDE_EFFECT = "side effect outside memory"
    JUMP = "goto or label"


@dataclass(frozen=True)
class ReorderingObstacle:
    """Something that forbids reordering. name: its name in the source (`__syncthreads`). via: the calls that lead to it."""

    kind: ObstacleKind
    name: str
    line: int
    via: tuple[str, ...] = ()

    def __str__(self) -> str:
        path = f" through {' -> '.join(self.via)}" if self.via else ""
        return f"{self.kind.value} {self.name}{path} (line {self.line})"


@dataclass(frozen=True)
class Span:
    """Byte range [start, end) of a file, and the line (from 1) that contains `start`."""

    start: int
    end: int
    line: int


@dataclass(frozen=True)
class Stride:
    """The stride of `for (...; i < bound; i += step)` on 32-bit integers, provided that nothing in the body changes bound or
    step and control leaves the body only at its end. bound, step: source text. increment: the location of `i += step`.
    """

    bound: str
    step: str
    increment: Span


@dataclass(frozen=True)
class Loop:
    """One loop of a kernel.

    kind: for | while | do | range-for. body: its statement, including braces. variable: the loop variable of a counted loop
    (`for (T i = a; i < b; i += step)`, i unchanged in the body); None for other loops. step: the step of a counted loop if it
    is constant, else None. stride: the stride of a counted loop that increases by a loop-invariant step, else None. trip_count:
    the number of iterations if Clang knows it, else None. hint: whether the author specified an unroll pragma or attribute.
    in_macro: whether any of it comes from a macro. obstacles: what forbids reordering, in it and in the functions that it
    calls. loads: array and pointer reads in the body, as source text. children: the loops directly inside it.
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
    obstacles: tuple[ReorderingObstacle, ...]
    loads: tuple[str, ...]
    children: tuple[Loop, ...] = ()
    stride: Stride | None = None

    @property
    def innermost(self) -> bool:
        return not self.children

    def walk(self) -> Iterator[Loop]:
        """This loop and all nested ones, outermost first."""
        left = [self]
        while left:
            loop = left.pop()
            yield loop
            left += reversed(loop.children)


@dataclass(frozen=True)
class KernelParameter:
    """A kernel parameter: its type as written, its canonical type and, for pointers, the canonical pointee type."""

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

    identity: Clang's USR, which distinguishes overloads, scopes and template heads. name: qualified name. symbol: mangled name;
    None for templates (each instantiation has its own). declaration: the offset where its declaration begins, including `extern
    "C"`; span begins after that. c_linkage: whether it is inside an `extern "C" {...}`. in_class: whether it is a static
    member. template: the parameters in `template <...>`; None if it is not a template. attributes: the text of each attribute,
    such as `__launch_bounds__(256)`.
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
        """The name as shown in a trace; None for templates."""
        return demangled(self.symbol) if self.symbol is not None else None

    def all_loops(self) -> Iterator[Loop]:
        """Every loop, outermost first, in source order."""
        for loop in self.loops:
            yield from loop.walk()
