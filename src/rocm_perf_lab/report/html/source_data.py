"""source.json in the compact form that the page needs."""

from __future__ import annotations

from typing import Any

from rocm_perf_lab.report.source_schema import AwaitedAccess, LineCost, SourceDocument, SourceFile, SourceKernel


def files_of(document: SourceDocument) -> list[dict[str, Any]]:
    return [_file(file) for file in document.files]


def names_of(document: SourceDocument) -> dict[str, str]:
    """Path -> the name that pages use for the file."""
    return {file.path: file.name for file in document.files}


def _file(file: SourceFile) -> dict[str, Any]:
    excerpts = [[excerpt.first, excerpt.text] for excerpt in file.excerpts or []]
    return {"name": file.name, "why": file.reasons.get("excerpts"), "excerpts": excerpts}


def code_of(kernel: SourceKernel) -> dict[str, Any]:
    """The kernel's instructions, costs, lines and waits as plain lists. "why": the reason if there are none, otherwise None."""
    if kernel.instructions is None:
        return {"why": kernel.reasons["instructions"]}
    return {
        "why": None,
        "note": _note(kernel),
        "isa": [instruction.isa for instruction in kernel.instructions],
        "address": [instruction.address for instruction in kernel.instructions],
        "places": [
            [part for location in instruction.places for part in (location.file, location.line)]
            for instruction in kernel.instructions
        ],
        "costs": None if kernel.costs is None else [list(cost.model_dump().values()) for cost in kernel.costs],
        "lines": None if kernel.lines is None else [_line(line) for line in kernel.lines],
        "waits": None if kernel.waits is None else [
            [wait.address, [_access(access) for access in wait.accesses], wait.unexplained_cycles]
            for wait in kernel.waits
        ],
    }  # fmt: skip


def _access(access: AwaitedAccess) -> list[int]:
    return [access.address, access.times, access.ended, access.waited_cycles]


def _line(line: LineCost) -> list[float]:
    """[file, line, hits, latency, stall, idle, share, waited]."""
    cycles = (line.latency_cycles, line.stall_cycles, line.idle_cycles)
    return [line.place.file, line.place.line, line.hits, *cycles, line.share, line.waited_cycles]


def _note(kernel: SourceKernel) -> str:
    left = f" {kernel.left_out:,} instructions with few cycles are left out." if kernel.left_out else ""
    if kernel.costs is None:
        return f"No cycles: {kernel.reasons['costs']}.{left}"
    if not any(instruction.places for instruction in kernel.instructions or []):
        left += " The code has no line numbers: compile with -g to see its source."
    waves = "the traced waves" if kernel.waves is None else f"{kernel.waves:,} traced wave{'s' * (kernel.waves != 1)} on one CU"
    return (
        f"Cycles of {waves}. Stalled: cycles at the line or instruction; waited for: cycles in which waves stalled, at any "
        f"line, for an access of the line. Arrow keys move; left and right go to the other table; Enter goes to what is waited "
        f"for.{left}"
    )
