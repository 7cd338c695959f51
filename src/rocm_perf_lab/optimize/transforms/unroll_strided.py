"""Unroll a strided loop: run several iterations at a time while enough are left, and the rest one at a time.

When a compiler unrolls `for (i = first; i < n; i += stride)`, it repeats the test in every copy, since it cannot rule out that
the stride leads past the end, so each iteration's loads wait for the test before them. After this change, a single 64-bit test
precedes all copies, so their loads are in flight together. The iterations and the order of their operations do not change.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf_lab.hip_source import Edit, HipSource, Loop, SourceKernel
from rocm_perf_lab.hip_source.edits import indentation
from rocm_perf_lab.hip_source.source_parts import Stride
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal
from rocm_perf_lab.optimize.transforms.unroll import why_not as why_not_unrolled

NAME = "unroll-strided"
_NO_STRIDE = "it is not `i < bound; i += stride` on 32-bit integers, with constant bound and stride"


def propose(source: HipSource, kernel: SourceKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    """One proposal per loop and factor. factors: 2 to 8."""
    for loop in kernel.all_loops():
        reason, stride = why_not(loop), loop.stride
        if reason or stride is None:
            yield Refusal(NAME, kernel.name, loop.span.line, reason or _NO_STRIDE)
            continue
        for factor in factors:
            yield Proposal(
                transformation=NAME,
                kernel=kernel.name,
                line=loop.span.line,
                description=f"unroll the loop of line {loop.span.line} by {factor}, with one test for all {factor} iterations",
                edits=_edits(source.text, loop, stride, factor),
                parameters={"factor": factor},
            )


def why_not(loop: Loop) -> str | None:
    """Why this loop cannot be changed; None if it can."""
    if reason := why_not_unrolled(loop):
        return reason
    if loop.step is not None:
        return "its stride is a constant: the compiler can unroll it"
    return _NO_STRIDE if loop.stride is None else None


def _edits(text: bytes, loop: Loop, stride: Stride, factor: int) -> tuple[Edit, ...]:
    body = text[loop.body.start : loop.body.end].decode()
    end = loop.body.end
    if not body.startswith("{"):  # a statement's extent ends before its semicolon
        end = text.index(b";", end) + 1
        body = f"{{ {body}; }}"
    outer = indentation(text, loop.span.start)
    inner, deepest = outer + "  ", outer + "    "
    iteration = f"{deepest}{body}\n{deepest}{loop.variable} += {stride.step};\n"
    wide = "static_cast<long long>"
    test = f"{wide}({loop.variable}) + {factor - 1} * {wide}({stride.step}) < {wide}({stride.bound})"
    changed = f"{{\n{inner}if ({test}) {{\n{iteration * factor}{inner}}} else {{\n{iteration}{inner}}}\n{outer}}}"
    return Edit(stride.increment.start, stride.increment.end, ""), Edit(loop.body.start, end, changed)
