"""`__restrict__` on pointer parameters: memory written through one of them is accessed through no other.

Without the qualifier, the compiler must assume that a store may change what any later load reads, so loads stay behind stores
and are repeated in every iteration. The qualifier only has an effect on the parameter itself: Clang ignores the qualifier on
local copies. `const` is not added, since it would change the mangled name, and the compiler itself determines which parameters
are never written through.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf_lab.gate.source.promises import RESTRICT, Promises, broken_in_source
from rocm_perf_lab.hip_source import Edit, HipSource, KernelParameter, SourceKernel
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal

NAME = "restrict"


def propose(source: HipSource, kernel: SourceKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    """One proposal that qualifies all parameters for which that is possible."""
    wanted = []
    for parameter in kernel.parameters:
        if parameter.pointee is None:
            continue
        if reason := why_not(source, kernel, parameter):
            yield Refusal(NAME, kernel.name, parameter.span.line, f"{parameter.name or 'a parameter'}: {reason}")
        else:
            wanted.append(parameter)
    if wanted:
        names = tuple(parameter.name for parameter in wanted)
        yield Proposal(
            transformation=NAME,
            kernel=kernel.name,
            line=kernel.span.line,
            description=f"make {', '.join(names)} {RESTRICT}",
            edits=tuple(_edit(parameter) for parameter in wanted),
            parameters={"parameters": " ".join(names)},
            promises=Promises(restrict=names),
        )


def why_not(source: HipSource, kernel: SourceKernel, parameter: KernelParameter) -> str | None:
    """Why this pointer cannot be qualified; None if it can."""
    if parameter.restrict:
        return f"it is {RESTRICT} already"
    if sum(other.pointee is not None for other in kernel.parameters) < 2:
        return "it is the only pointer"
    span = parameter.span
    if not parameter.name or not source.text[span.start : span.end].endswith(parameter.name.encode()):
        return "it is not written as a named pointer"
    if source.device.cut_by_macro(source.device.own, span.start, span.end):
        return "it comes from a macro"
    return broken_in_source(source, kernel.name, Promises(restrict=(parameter.name,)))


def _edit(parameter: KernelParameter) -> Edit:
    position = parameter.span.end - len(parameter.name.encode())
    return Edit(position, position, f"{RESTRICT} ")
