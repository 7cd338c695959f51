"""Move loads that return the same value in every iteration out of the loop, to just before it.

The compiler does this itself if no store in the loop can change the value. This transformation promises the gate that nothing
in the whole kernel writes to the loaded memory. The load is executed only if the loop runs at least once, so it cannot
introduce a fault.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf_lab.gate.source.promises import Promises, broken_in_source
from rocm_perf_lab.hip_source import Edit, HipSource, Loop, SourceKernel
from rocm_perf_lab.hip_source.edits import before_pragmas, indentation, line_start, new_names
from rocm_perf_lab.hip_source.invariant_loads import InvariantLoad, LoopEntry, entry_of, invariant_loads
from rocm_perf_lab.hip_source.source_parts import ObstacleKind
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal

NAME = "hoist"
_FORBIDDEN = (
    ObstacleKind.JUMP,
    ObstacleKind.INLINE_ASM,
    ObstacleKind.VOLATILE,
    ObstacleKind.UNKNOWN_CALL,
    ObstacleKind.INDIRECT_CALL,
)


def propose(source: HipSource, kernel: SourceKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    """One proposal per loop, for all its invariant loads."""
    for loop in kernel.all_loops():
        loads = [] if (reason := why_not(loop)) else invariant_loads(source.device, kernel, loop)
        entry = entry_of(source.device, kernel, loop) if loads else None
        promises = Promises(unwritten=tuple(dict.fromkeys(load.parameter for load in loads)))
        if not reason and not loads:
            reason = "no load through a const pointer has the same address in every iteration"
        elif entry is not None:
            reason = broken_in_source(source, kernel.name, promises)
        if reason or entry is None:
            yield Refusal(
                NAME, kernel.name, loop.span.line, reason or "whether the loop has any iterations cannot be tested before it"
            )
            continue
        texts = ", ".join(load.text for load in loads)
        yield Proposal(
            transformation=NAME,
            kernel=kernel.name,
            line=loop.span.line,
            description=f"load {texts} once, before the loop of line {loop.span.line}",
            edits=_edits(source.text, loop, loads, entry),
            parameters={"loads": texts},
            promises=promises,
        )


def why_not(loop: Loop) -> str | None:
    """Why this loop cannot be changed, regardless of what it loads; None if it can."""
    if loop.in_macro:
        return "it comes from a macro"
    if loop.kind == "range-for":
        return "it is a range-for loop"
    return next((f"it holds a {obstacle}" for obstacle in loop.obstacles if obstacle.kind in _FORBIDDEN), None)


def _edits(text: bytes, loop: Loop, loads: list[InvariantLoad], entry: LoopEntry) -> tuple[Edit, ...]:
    names = new_names(text, "hoisted", len(loads))
    start, end = before_pragmas(text, loop.span.start), _end(text, loop)
    indent = indentation(text, loop.span.start)
    assigned = " ".join(f"{name} = {load.text};" for name, load in zip(names, loads, strict=True))
    if entry.condition:
        lines = [f"{load.type} {name}{{}};" for name, load in zip(names, loads, strict=True)]
        lines.append(f"{{ {entry.first} if ({entry.condition}) {{ {assigned} }} }}")
    else:
        lines = [f"const {load.type} {name} = {load.text};" for name, load in zip(names, loads, strict=True)]
    head = "{\n" + "".join(f"{indent}{line}\n" for line in lines)
    # An insertion at the start of the loop's line is followed by the line's own indentation.
    opening = head if start == line_start(text, loop.span.start) and start != loop.span.start else head + indent
    uses = [Edit(use.start, use.end, name) for name, load in zip(names, loads, strict=True) for use in load.spans]
    return (Edit(start, start, opening), *uses, Edit(end, end, f"\n{indent}}}"))


def _end(text: bytes, loop: Loop) -> int:
    """The end of the loop. It includes the semicolon after a do-while or after a body without braces, which is not part of the
    loop's extent.
    """
    end = loop.span.end
    return end if loop.kind != "do" and text[end - 1 : end] == b"}" else text.index(b";", end) + 1
