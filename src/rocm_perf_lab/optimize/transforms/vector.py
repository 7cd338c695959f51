"""If a block of statements uses neighbouring elements, load them as one vector before the first statement that uses them.

The compiler does this itself if there is no store between the loads. This transformation promises the gate that nothing in the
whole kernel writes to the elements' memory. No additional elements are loaded. The vector is aligned like a single element, so
the compiler chooses instructions that need no stricter alignment, and no guard is necessary.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf_lab.gate.source.promises import Promises, broken_in_source
from rocm_perf_lab.hip_source import Edit, HipSource, SourceKernel
from rocm_perf_lab.hip_source.contiguous_loads import ContiguousLoads, contiguous_loads
from rocm_perf_lab.hip_source.edits import indentation, new_names
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal

NAME = "vector"


def propose(source: HipSource, kernel: SourceKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    """One proposal per block, for all loads in it that can be combined."""
    has_runs = False
    for runs in contiguous_loads(source.device, kernel):
        has_runs = True
        promises = Promises(unwritten=tuple(dict.fromkeys(run.parameter for run in runs)))
        line = runs[0].first_statement.line
        if reason := broken_in_source(source, kernel.name, promises):
            yield Refusal(NAME, kernel.name, line, reason)
            continue
        firsts = ", ".join(f"{len(run.spans)} elements from {run.first_element}" for run in runs)
        yield Proposal(
            transformation=NAME,
            kernel=kernel.name,
            line=line,
            description=f"load {firsts} at once (line {line})",
            edits=tuple(_edits(source.text, runs)),
            parameters={"elements": sum(len(run.spans) for run in runs), "vectors": len(runs)},
            promises=promises,
        )
    if not has_runs:
        reason = "no block of statements loads neighbouring elements through a const pointer"
        yield Refusal(NAME, kernel.name, kernel.span.line, reason)


def _edits(text: bytes, runs: list[ContiguousLoads]) -> Iterator[Edit]:
    before: dict[int, list[str]] = {}
    for run, name in zip(runs, new_names(text, "wide", len(runs)), strict=True):
        count = len(run.spans)
        type_ = name.title()
        before.setdefault(run.first_statement.start, []).extend(
            [
                f"typedef {run.type} {type_} __attribute__((ext_vector_type({count}), aligned({run.bytes})));",
                f"const {type_} {name} = *reinterpret_cast<const {type_}*>(&{run.first_element});",
            ]
        )
        for element, uses in enumerate(run.spans):
            yield from (Edit(use.start, use.end, f"{name}[{element}]") for use in uses)
    for start, lines in before.items():
        yield Edit(start, start, "".join(f"{line}\n{indentation(text, start)}" for line in lines))
