"""source.json in the compact form that the page needs."""

from __future__ import annotations

from typing import Any

from rocm_perf_lab.report.source_schema import AwaitedAccess, LineCost, SourceDocument, SourceFile, SourceKernel


def files_of(document: SourceDocument) -> list[dict[str, Any]]:
    return [_file(one) for one in document.files]


def names_of(document: SourceDocument) -> dict[str, str]:
    """Path -> the name that pages use for the file."""
    return {one.path: one.name for one in document.files}


def _file(one: SourceFile) -> dict[str, Any]:
    excerpts = [[each.first, each.text] for each in one.excerpts or []]
    return {"name": one.name, "why": one.reasons.get("excerpts"), "excerpts": excerpts}


def code_of(one: SourceKernel) -> dict[str, Any]:
    """The kernel's instructions, costs, lines and waits as plain lists. "why": the reason if there are none, otherwise None."""
    if one.instructions is None:
        return {"why": one.reasons["instructions"]}
    return {
        "why": None,
        "note": _note(one),
        "isa": [each.isa for each in one.instructions],
        "address": [each.address for each in one.instructions],
        "places": [[part for place in each.places for part in (place.file, place.line)] for each in one.instructions],
        "costs": None if one.costs is None else [list(each.model_dump().values()) for each in one.costs],
        "lines": None if one.lines is None else [_line(each) for each in one.lines],
        "waits": None if one.waits is None else [
            [each.address, [_access(to) for to in each.accesses], each.unexplained_cycles]
            for each in one.waits
        ],
    }  # fmt: skip


def _access(one: AwaitedAccess) -> list[int]:
    return [one.address, one.times, one.ended, one.waited_cycles]


def _line(one: LineCost) -> list[float]:
    """[file, line, hits, latency, stall, idle, share, waited]."""
    cycles = (one.latency_cycles, one.stall_cycles, one.idle_cycles)
    return [one.place.file, one.place.line, one.hits, *cycles, one.share, one.waited_cycles]


def _note(one: SourceKernel) -> str:
    left = f" {one.left_out:,} instructions with few cycles are left out." if one.left_out else ""
    if one.costs is None:
        return f"No cycles: {one.reasons['costs']}.{left}"
    if not any(each.places for each in one.instructions or []):
        left += " The code has no line numbers: compile with -g to see its source."
    waves = "the traced waves" if one.waves is None else f"{one.waves:,} traced wave{'s' * (one.waves != 1)} on one CU"
    return (
        f"Cycles of {waves}. Stalled: cycles at the line or instruction; waited for: cycles in which waves stalled, at any "
        f"line, for an access of the line. Arrow keys move; left and right go to the other table; Enter goes to what is waited "
        f"for.{left}"
    )
