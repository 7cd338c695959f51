"""Turns kernels' code into source.json."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rocm_perf_lab.analysis.annotated_code import AnnotatedCode, CodeLine
from rocm_perf_lab.analysis.findings import Findings
from rocm_perf_lab.analysis.thread_trace.findings import Cost, SourceLine, ThreadTraceFindings, WaitChain
from rocm_perf_lab.report import source_schema as schema
from rocm_perf_lab.report.source_lines import source_files

MAX_INSTRUCTIONS_PER_KERNEL = 2000
"""The maximum number of instructions shown for one kernel."""
_MAX_INSTRUCTIONS = 10_000
_TOO_MANY = f"the kernels with more time already have {_MAX_INSTRUCTIONS:,} instructions"
_NEED_A_TRACE = ("costs", "lines", "waits")


@dataclass(frozen=True)
class _Files:
    """Collects the paths of the files that contain the given places, and the line numbers in each file."""

    lines: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    numbers: dict[str, int] = field(default_factory=dict)

    def location(self, text: str) -> schema.SourceLocation | None:
        """text: "file:line"."""
        path, _, line = text.strip().rpartition(":")
        if not path or not line.isdecimal():
            return None
        self.lines[path].add(int(line))
        return schema.SourceLocation(file=self.numbers.setdefault(path, len(self.numbers)), line=int(line))

    def locations(self, source: str) -> list[schema.SourceLocation]:
        return [location for part in source.split(" -> ") if (location := self.location(part)) is not None]


def source_document(
    findings: Findings, code: Sequence[AnnotatedCode | str], common_fields: dict[str, Any], reasons: dict[str, str]
) -> schema.SourceDocument:
    """The document source.json. code: for each kernel of the findings, its code, or the reason why the code is not known.
    common_fields, reasons: the fields at the start of every document, and why some of them are null.
    """
    files, left, kernels = _Files(), _MAX_INSTRUCTIONS, []
    for kernel, kernel_code in zip(findings.kernels, code, strict=True):
        if isinstance(kernel_code, AnnotatedCode) and len(kernel_code.instructions) > left:
            kernel_code = _TOO_MANY
        left -= len(kernel_code.instructions) if isinstance(kernel_code, AnnotatedCode) else 0
        symbol = kernel.symbol.kernel.symbol
        traced = findings.traced.by_symbol.get(symbol)
        kernels.append(_kernel(kernel.symbol.name, symbol, kernel_code, traced, findings.traced.reason, files))
    lines = {path: files.lines[path] for path in files.numbers}
    return schema.SourceDocument(
        files=source_files(lines, findings.trace.path.stat().st_mtime), kernels=kernels, reasons=reasons, **common_fields
    )


def _kernel(
    name: str, symbol: str, code: AnnotatedCode | str, traced: ThreadTraceFindings | None, untraced: str, files: _Files
) -> schema.SourceKernel:
    reasons = {}
    waves = int(traced.waves.value) if traced is not None and traced.waves.value is not None else None
    if waves is None:
        reasons["waves"] = untraced if traced is None else traced.waves.reason or untraced
    if isinstance(code, str):
        reasons |= dict.fromkeys(("instructions", *_NEED_A_TRACE), code)
        nothing = dict.fromkeys(("instructions", *_NEED_A_TRACE))
        return schema.SourceKernel(kernel=name, symbol=symbol, waves=waves, left_out=0, reasons=reasons, **nothing)
    costs = [_cost(instruction.cost) for instruction in code.instructions if instruction.cost is not None]
    if code.lines is None:
        reasons |= dict.fromkeys(_NEED_A_TRACE, untraced)
    return schema.SourceKernel(
        kernel=name,
        symbol=symbol,
        waves=waves,
        instructions=[_instruction(instruction, files) for instruction in code.instructions],
        left_out=code.left_out,
        costs=None if code.lines is None else costs,
        lines=None if code.lines is None else [line for source_line in code.lines if (line := _line(source_line, files))],
        waits=None if code.chains is None else [_wait(chain) for chain in code.chains],
        reasons=reasons,
    )


def _instruction(instruction: CodeLine, files: _Files) -> schema.CodeInstruction:
    return schema.CodeInstruction(address=instruction.address, isa=instruction.text, places=files.locations(instruction.source))


def _figures(cost: Cost) -> dict[str, Any]:
    return {
        "hits": cost.hits,
        "latency_cycles": cost.latency,
        "stall_cycles": cost.stall,
        "idle_cycles": cost.idle,
        "share": cost.share,
    }


def _cost(cost: Cost) -> schema.InstructionCost:
    return schema.InstructionCost(**_figures(cost))


def _line(line: SourceLine, files: _Files) -> schema.LineCost | None:
    location = files.location(line.source)
    return None if location is None else schema.LineCost(place=location, waited_cycles=line.waited, **_figures(line.cost))


def _wait(chain: WaitChain) -> schema.CodeWait:
    return schema.CodeWait(
        address=chain.wait.vaddr,
        accesses=[
            schema.AwaitedAccess(
                address=access.instruction.vaddr, times=access.times, ended=access.ended, waited_cycles=access.waited
            )
            for access in chain.accesses
        ],
        unexplained_cycles=chain.unexplained,
    )
