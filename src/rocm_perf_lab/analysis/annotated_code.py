"""The instructions of a kernel with their source lines and, if there is a thread trace, their costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from rocm_perf_lab.analysis.code_objects import CodeObjects
from rocm_perf_lab.analysis.thread_trace.findings import Cost, SourceLine, ThreadTraceFindings, WaitChain
from rocm_perf_lab.code_object.disassembly import with_offsets
from rocm_perf_lab.errors import RocmPerfError
from rocm_perf_lab.rocpd.trace import Kernel

NO_CODE = "the kernel's code object was not found, or has changed since the run"
NO_LINES = "the code has no line numbers: compile with -g"


@dataclass(frozen=True)
class CodeLine:
    """An instruction. address: within its code object. source: its "file:line" and, if that code was inlined, each place where
    it was inlined, separated by " -> "; "" if unknown. cost: None without a thread trace.
    """

    address: int
    text: str
    source: str
    cost: Cost | None


@dataclass(frozen=True)
class AnnotatedCode:
    """The code of one kernel, in ascending order of address. left_out: how many instructions exceeded the limit; without a
    thread trace, an estimate that assumes 8 bytes each.

    lines, chains: `hot_lines` and `chains` of ThreadTraceFindings; None without a thread trace.
    """

    instructions: tuple[CodeLine, ...]
    lines: Sequence[SourceLine] | None
    chains: Sequence[WaitChain] | None
    left_out: int = 0


def annotated_code(kernel: Kernel, traced: ThreadTraceFindings | None, code: CodeObjects, limit: int) -> AnnotatedCode | str:
    """The kernel's code, or the reason why it cannot be shown. limit: how many instructions to keep: those with the most cycles
    or, without a thread trace, the first ones.
    """
    if traced is not None and traced.trace.code is not None:
        return _traced(traced, limit)
    return _untraced(kernel, code, limit)


def _traced(findings: ThreadTraceFindings, limit: int) -> AnnotatedCode:
    """The kernel's own instructions, and the instructions of the functions that it called."""
    code = findings.trace.code
    if code is None:
        raise ValueError("the trace has no code")
    own = [number for number, names in enumerate(code.kernels) if names == findings.trace.kernel]
    rows = np.flatnonzero(np.isin(code.kernel, own) | (code.hits > 0))
    cycles = code.latency[rows] + code.idle[rows]
    listed_rows = rows[np.lexsort((code.vaddr[rows], -cycles))[:limit]]
    listed_rows = listed_rows[np.lexsort((code.vaddr[listed_rows], code.code_object[listed_rows]))]
    total = int((code.latency + code.idle).sum())
    columns = (code.vaddr, code.hits, code.latency, code.stall, code.idle)
    listed = [
        CodeLine(
            address,
            code.text[row],
            code.source[row],
            Cost(hits, latency, stall, idle, (latency + idle) / total if total else 0.0),
        )
        for row, address, hits, latency, stall, idle in zip(
            listed_rows.tolist(), *(column[listed_rows].tolist() for column in columns), strict=True
        )
    ]
    return AnnotatedCode(tuple(listed), findings.hot_lines, findings.chains, len(rows) - len(listed_rows))


def _untraced(kernel: Kernel, code: CodeObjects, limit: int) -> AnnotatedCode | str:
    kernel_code = code.of(kernel)
    if kernel_code is None or not kernel_code.metadata.code:
        return NO_CODE
    metadata, target = kernel_code.metadata, kernel_code.code_object.target
    lines = code.lines(kernel)
    if not lines.addresses:
        return NO_LINES
    try:
        decoded = list(islice(with_offsets(metadata.code, target), limit + 1))
    except RocmPerfError as error:  # comgr is missing or does not know the target
        return error.problem
    first = metadata.code_address
    listed = [CodeLine(first + offset, text, lines.location_at(first + offset), None) for offset, text in decoded[:limit]]
    size = decoded[limit][0] if len(decoded) > limit else len(metadata.code)
    return AnnotatedCode(tuple(listed), None, None, (len(metadata.code) - size + 7) // 8 if len(decoded) > limit else 0)
