"""Unroll a loop with a pragma: the compiler keeps the order of floating-point operations and handles the remaining iterations.

The gain comes from having the loads of several iterations in flight at once. Proposals are made only for innermost loops. A
loop is left unchanged if it contains anything but plain arithmetic and memory accesses, or if its author has specified how to
unroll it.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf_lab.hip_source import Edit, HipSource, Loop, SourceKernel
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal

NAME = "unroll"


def propose(source: HipSource, kernel: SourceKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    """One proposal per loop and factor. factors: 2 to 8."""
    for loop in kernel.all_loops():
        if reason := why_not(loop):
            yield Refusal(NAME, kernel.name, loop.span.line, reason)
            continue
        for factor in factors:
            if loop.trip_count is None or factor <= loop.trip_count:
                yield Proposal(
                    transformation=NAME,
                    kernel=kernel.name,
                    line=loop.span.line,
                    description=f"unroll the loop of line {loop.span.line} by {factor}",
                    edits=(_pragma(source.text, loop, factor),),
                    parameters={"factor": factor},
                )


def why_not(loop: Loop) -> str | None:
    """Why this loop cannot be unrolled; None if it can."""
    if loop.in_macro:
        return "it comes from a macro"
    if loop.hint:
        return "its author has already specified unrolling"
    if loop.obstacles:
        return f"it holds a {loop.obstacles[0]}"
    if not loop.innermost:
        return "it is not innermost"
    if loop.kind not in ("for", "while", "do"):
        return f"it is a {loop.kind} loop"
    if loop.trip_count is not None and loop.trip_count < 2:
        return f"it runs {loop.trip_count} times"
    return None


def _pragma(text: bytes, loop: Loop, factor: int) -> Edit:
    """The pragma, on a line of its own before the loop; if something precedes the loop on its line, that line is split."""
    start = loop.span.start
    line = text.rfind(b"\n", 0, start) + 1
    before = text[line:start]
    if before.strip():
        return Edit(start, start, f"\n#pragma unroll {factor}\n")
    return Edit(start, start, f"#pragma unroll {factor}\n{before.decode()}")
