"""The instructions of a kernel with their source lines and, if there is a thread trace, their costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from rocm_perf_lab.analysis.code_objects import CodeObjects
from rocm_perf_lab.analysis.thread_trace.findings import Cost, SourceLine, ThreadTraceFindings, WaitChain
from rocm_perf_lab.code_object.disassembly import with_places
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

    lines, chains: as in ThreadTraceFindings; None without a thread trace.
    """

    instructions: tuple[CodeLine, ...]
    lines: Sequence[SourceLine] | None
    chains: Sequence[WaitChain] | None
    left_out: int = 0


def annotated_code(kernel: Kernel, traced: ThreadTraceFindings | None, code: CodeObjects, most: int) -> AnnotatedCode | str:
    """The kernel's code, or the reason why it cannot be shown. most: how many instructions to keep: those with the most cycles
    or, without a thread trace, the first ones.
    """
    if traced is not None and traced.trace.code is not None:
        return _traced(traced, most)
    return _untraced(kernel, code, most)


def _traced(found: ThreadTraceFindings, most: int) -> AnnotatedCode:
    """The kernel's own instructions, and the instructions of the functions that it called."""
    code = found.trace.code
    if code is None:
        raise ValueError("the trace has no code")
    own = [number for number, names in enumerate(code.kernels) if names == found.trace.kernel]
    rows = np.flatnonzero(np.isin(code.kernel, own) | (code.hits > 0))
    cycles = code.latency[rows] + code.idle[rows]
    kept = rows[np.lexsort((code.vaddr[rows], -cycles))[:most]]
    kept = kept[np.lexsort((code.vaddr[kept], code.code_object[kept]))]
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
            kept.tolist(), *(column[kept].tolist() for column in columns), strict=True
        )
    ]
    return AnnotatedCode(tuple(listed), found.hot_lines, found.chains, len(rows) - len(kept))


def _untraced(kernel: Kernel, code: CodeObjects, most: int) -> AnnotatedCode | str:
    known = code.of(kernel)
    if known is None or not known[0].code:
        return NO_CODE
    metadata, target = known
    lines = code.lines(kernel)
    if not lines.addresses:
        return NO_LINES
    try:
        decoded = list(islice(with_places(metadata.code, target), most + 1))
    except RocmPerfError as error:  # comgr is missing or does not know the target
        return error.what
    first = metadata.code_address
    listed = [CodeLine(first + place, text, lines.at(first + place), None) for place, text in decoded[:most]]
    size = decoded[most][0] if len(decoded) > most else len(metadata.code)
    return AnnotatedCode(tuple(listed), None, None, (len(metadata.code) - size + 7) // 8 if len(decoded) > most else 0)
