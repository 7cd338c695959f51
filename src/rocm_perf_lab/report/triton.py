"""Triton's view of a kernel, as a section of analysis.json and as sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_perf_lab.analysis.occupancy import DispatchOccupancy
from rocm_perf_lab.analysis.triton.compiled import compiled
from rocm_perf_lab.analysis.triton.described import DescribedKernel
from rocm_perf_lab.analysis.triton.options import raising_occupancy
from rocm_perf_lab.analysis.triton.ttgir_lines import operations_by_line
from rocm_perf_lab.report.schema import KernelAnalysis
from rocm_perf_lab.report.triton_schema import SharedLayoutSection, TritonSection

_WIDEST = 128
_USUAL = {"waves_per_eu": 0, "matrix_instr_nonkdim": 0, "kpack": 1}  # defaults, which are not worth mentioning
_MOVES_DATA = ("amdg.", "ttg.", "tt.load", "tt.store", "tt.dot", "tt.atomic", "tt.descriptor")
_MOST_OPERATIONS = 4
_OPERANDS = re.compile(r"(?<= )%[^:{]*(?=[:{])")
_LOOP_FREE = "it has no loop"


def triton_section(kernel: DescribedKernel, occupancy: DispatchOccupancy) -> TritonSection:
    found = compiled(kernel)
    return TritonSection(
        function=kernel.function,
        file=kernel.file,
        line=kernel.line,
        version=kernel.version,
        constants=dict(kernel.constants),
        options={name: value for name, value in kernel.options.items() if value is not None},
        matrix_instructions=found.matrix_instructions,
        dots=found.dots,
        loads=found.loads,
        stages=found.stages,
        buffers=found.buffers,
        spilled=found.spilled,
        operations=operations_by_line(kernel.ttgir, kernel.file),
        layouts=[SharedLayoutSection(kind=one.kind, parameters=one.parameters, spreads=one.spreads) for one in found.layouts],
        raise_occupancy=list(raising_occupancy(kernel, occupancy)),
        reasons={} if found.stages is not None else {"stages": _LOOP_FREE},
    )


def sentences(kernel: KernelAnalysis) -> list[list[str]]:
    """For each specialisation: what was compiled, what is notable about it, and the TTGIR of the line that matters."""
    return [[*_in_triton_terms(one), *_of_line(one, _line_that_matters(kernel))] for one in kernel.triton]


def _line_that_matters(kernel: KernelAnalysis) -> str | None:
    """The line whose accesses waves wait for the longest or, if that is not known, the line with the most cycles; for inlined
    code, the line in the function itself.
    """
    trace = kernel.thread_trace
    if trace is None:
        return None
    found = trace.waited_for or next(iter(trace.hot_lines), None)
    return found.source.rpartition(" -> ")[2] if found is not None else None


def _of_line(found: TritonSection, source: str | None) -> list[str]:
    operations = next((some for line, some in found.operations.items() if source == f"{found.file}:{line}"), [])
    moving = (_OPERANDS.sub("", one) for one in operations if one.startswith(_MOVES_DATA))
    shown = list(dict.fromkeys(moving))[:_MOST_OPERATIONS]
    return [f"in TTGIR, {source} is {'; '.join(shown)}."] if shown else []


def _in_triton_terms(found: TritonSection) -> list[str]:
    values = [*found.constants.items(), *((name, value) for name, value in found.options.items() if value != _USUAL.get(name))]
    given = ", ".join(f"{name}={value}" for name, value in values)
    return [f"Triton {found.version}: {found.function} of {found.file}:{found.line} with {given}.", *_remarks(found)]


def _remarks(found: TritonSection) -> Iterator[str]:
    if found.matrix_instructions:
        counts = ", ".join(f"{count} {name}" for name, count in found.matrix_instructions.items())
        yield f"matrix instructions: {counts}."
    elif found.dots:
        yield "no matrix instructions: its tl.dot has no shape or type that they support."
    if found.loads:
        yield _loads(found.loads)
    yield from _stages(found)
    for layout in found.layouts:
        if not layout.spreads:
            shown = f"{layout.kind}: {layout.parameters}"
            yield f"a layout in the LDS is not swizzled ({shown}): its rows can fall on the same banks."
    if found.spilled:
        yield f"{found.spilled} VGPRs are spilled to memory: smaller blocks or more warps need fewer."
    for way in found.raise_occupancy:
        yield f"would raise occupancy, {way}."


def _loads(loads: dict[int, int]) -> str:
    counts = ", ".join(f"{count} of {bits} bits" for bits, count in sorted(loads.items(), reverse=True))
    narrow = max(loads) < _WIDEST
    hint = ": wider ones need contiguous addresses that are known to be aligned (tl.multiple_of, sizes divisible by 16)"
    return f"loads from memory, per lane: {counts}{hint if narrow else ''}."


def _stages(found: TritonSection) -> Iterator[str]:
    wanted = found.options.get("num_stages", 1)
    if found.stages is None or wanted <= 1:
        return
    if found.stages == 1:
        yield f"num_stages={wanted} has no effect: no loop was pipelined, as none loads operands of tl.dot."
    elif found.stages < wanted:
        yield f"{found.stages} of {wanted} stages overlap, with {found.buffers} buffers per tile in the LDS."
    else:
        yield f"its loops reach all {wanted} stages, with {found.buffers} buffers per tile in the LDS."
