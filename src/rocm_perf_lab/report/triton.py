"""Triton's view of a kernel, as a section of analysis.json and as sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_perf_lab.analysis.occupancy import DispatchOccupancy
from rocm_perf_lab.analysis.triton.compiled_code import compiled
from rocm_perf_lab.analysis.triton.kernel_descriptions import DescribedKernel
from rocm_perf_lab.analysis.triton.options import raising_occupancy
from rocm_perf_lab.analysis.triton.ttgir_lines import operations_by_line
from rocm_perf_lab.report.schema import KernelAnalysis
from rocm_perf_lab.report.triton_schema import SharedLayoutSection, TritonSection

_MAX_LOAD_BITS = 128
_USUAL = {"waves_per_eu": 0, "matrix_instr_nonkdim": 0, "kpack": 1}  # defaults, which are not worth mentioning
_MOVES_DATA = ("amdg.", "ttg.", "tt.load", "tt.store", "tt.dot", "tt.atomic", "tt.descriptor")
_MAX_OPERATIONS = 4
_OPERANDS = re.compile(r"(?<= )%[^:{]*(?=[:{])")
_LOOP_FREE = "it has no loop"


def triton_section(kernel: DescribedKernel, occupancy: DispatchOccupancy) -> TritonSection:
    compiled_kernel = compiled(kernel)
    return TritonSection(
        function=kernel.function,
        file=kernel.file,
        line=kernel.line,
        version=kernel.version,
        constants=dict(kernel.constants),
        options={name: value for name, value in kernel.options.items() if value is not None},
        matrix_instructions=compiled_kernel.matrix_instructions,
        dots=compiled_kernel.dots,
        loads=compiled_kernel.loads,
        stages=compiled_kernel.stages,
        buffers=compiled_kernel.buffers,
        spilled=compiled_kernel.spilled,
        operations=operations_by_line(kernel.ttgir, kernel.file),
        layouts=[
            SharedLayoutSection(kind=layout.kind, parameters=layout.parameters, spreads=layout.spreads)
            for layout in compiled_kernel.layouts
        ],
        raise_occupancy=list(raising_occupancy(kernel, occupancy)),
        reasons={} if compiled_kernel.stages is not None else {"stages": _LOOP_FREE},
    )


def sentences(kernel: KernelAnalysis) -> list[list[str]]:
    """For each specialisation: what was compiled, what is notable about it, and the TTGIR of the line that matters."""
    return [
        [*_in_triton_terms(specialisation), *_of_line(specialisation, _line_that_matters(kernel))]
        for specialisation in kernel.triton
    ]


def _line_that_matters(kernel: KernelAnalysis) -> str | None:
    """The line whose accesses waves wait for the longest or, if that is not known, the line with the most cycles; for inlined
    code, the line in the function itself.
    """
    trace = kernel.thread_trace
    if trace is None:
        return None
    line = trace.waited_for or next(iter(trace.hot_lines), None)
    return line.source.rpartition(" -> ")[2] if line is not None else None


def _of_line(section: TritonSection, source: str | None) -> list[str]:
    operations = next((in_line for line, in_line in section.operations.items() if source == f"{section.file}:{line}"), [])
    moving = (_OPERANDS.sub("", operation) for operation in operations if operation.startswith(_MOVES_DATA))
    shown = list(dict.fromkeys(moving))[:_MAX_OPERATIONS]
    return [f"in TTGIR, {source} is {'; '.join(shown)}."] if shown else []


def _in_triton_terms(section: TritonSection) -> list[str]:
    values = [
        *section.constants.items(),
        *((name, value) for name, value in section.options.items() if value != _USUAL.get(name)),
    ]
    settings = ", ".join(f"{name}={value}" for name, value in values)
    return [
        f"Triton {section.version}: {section.function} of {section.file}:{section.line} with {settings}.",
        *_remarks(section),
    ]


def _remarks(section: TritonSection) -> Iterator[str]:
    if section.matrix_instructions:
        counts = ", ".join(f"{count} {name}" for name, count in section.matrix_instructions.items())
        yield f"matrix instructions: {counts}."
    elif section.dots:
        yield "no matrix instructions: its tl.dot has no shape or type that they support."
    if section.loads:
        yield _loads(section.loads)
    yield from _stages(section)
    for layout in section.layouts:
        if not layout.spreads:
            shown = f"{layout.kind}: {layout.parameters}"
            yield f"a layout in the LDS is not swizzled ({shown}): its rows can fall on the same banks."
    if section.spilled:
        yield f"{section.spilled} VGPRs are spilled to memory: smaller blocks or more warps need fewer."
    for way in section.raise_occupancy:
        yield f"would raise occupancy, {way}."


def _loads(loads: dict[int, int]) -> str:
    counts = ", ".join(f"{count} of {bits} bits" for bits, count in sorted(loads.items(), reverse=True))
    narrow = max(loads) < _MAX_LOAD_BITS
    hint = ": wider ones need contiguous addresses that are known to be aligned (tl.multiple_of, sizes divisible by 16)"
    return f"loads from memory, per lane: {counts}{hint if narrow else ''}."


def _stages(section: TritonSection) -> Iterator[str]:
    wanted = section.options.get("num_stages", 1)
    if section.stages is None or wanted <= 1:
        return
    if section.stages == 1:
        yield f"num_stages={wanted} has no effect: no loop was pipelined, as none loads operands of tl.dot."
    elif section.stages < wanted:
        yield f"{section.stages} of {wanted} stages overlap, with {section.buffers} buffers per tile in the LDS."
    else:
        yield f"its loops reach all {wanted} stages, with {section.buffers} buffers per tile in the LDS."
