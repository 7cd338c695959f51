"""source.json as the page reads it: rows of numbers, and a note above them."""

from __future__ import annotations

import pytest

from rocm_perf_lab.report.html.source_data import code_of, files_of, names_of
from rocm_perf_lab.report.source_schema import (
    AwaitedAccess,
    CodeInstruction,
    CodeWait,
    Excerpt,
    InstructionCost,
    LineCost,
    SourceDocument,
    SourceFile,
    SourceKernel,
    SourceLocation,
)

COST = dict(hits=1, latency_cycles=2, stall_cycles=3, idle_cycles=4, share=0.5)


def instruction(*places: tuple[int, int]) -> CodeInstruction:
    return CodeInstruction(address=16, isa="s_nop", places=[SourceLocation(file=file, line=line) for file, line in places])


def kernel(**changed) -> SourceKernel:
    given = dict(
        waves=3, instructions=[instruction((0, 7), (1, 9)), instruction()], costs=[InstructionCost(**COST)] * 2, left_out=0,
        lines=[LineCost(place=SourceLocation(file=1, line=9), waited_cycles=5, **COST)], reasons={},
        waits=[
            CodeWait(
                address=24, accesses=[AwaitedAccess(address=16, times=2, ended=1, waited_cycles=6)], unexplained_cycles=8
            )
        ],
    )  # fmt: skip
    return SourceKernel.model_construct(**(given | changed))


def test_rows_of_numbers():
    found = code_of(kernel())
    assert found.pop("note").startswith("Cycles of 3 traced waves on one CU. Stalled: ")
    assert found == {
        "why": None, "isa": ["s_nop", "s_nop"], "address": [16, 16], "places": [[0, 7, 1, 9], []],
        "costs": [[1, 2, 3, 4, 0.5]] * 2, "lines": [[1, 9, 1, 2, 3, 4, 0.5, 5]], "waits": [[24, [[16, 2, 1, 6]], 8]],
    }  # fmt: skip


def test_what_is_not_known_is_null():
    found = code_of(kernel(costs=None, lines=None, waits=None, left_out=1234, reasons={"costs": "it was not traced"}))
    assert found["costs"] is found["lines"] is found["waits"] is None
    assert found["note"] == "No cycles: it was not traced. 1,234 instructions with few cycles are left out."
    assert code_of(kernel(instructions=None, reasons={"instructions": "too many"})) == {"why": "too many"}


@pytest.mark.parametrize(
    "waves, words",
    [
        (None, "the traced waves."),
        (0, "0 traced waves on one CU."),
        (1, "1 traced wave on one CU."),
        (2000, "2,000 traced waves on one CU."),
    ],
)
def test_how_many_waves_were_traced(waves, words):
    assert code_of(kernel(waves=waves))["note"].startswith(f"Cycles of {words} Stalled")


@pytest.mark.parametrize(
    "instructions, left_out, end",
    [
        ([instruction((0, 7)), instruction()], 0, "Enter goes to what is waited for."),
        ([instruction()], 0, "for. The code has no line numbers: compile with -g to see its source."),
        ([instruction((0, 7))], 5, "for. 5 instructions with few cycles are left out."),
    ],
)
def test_the_note_says_what_is_missing(instructions, left_out, end):
    assert code_of(kernel(instructions=instructions, left_out=left_out))["note"].endswith(end)


def test_files_with_their_lines_or_the_reason_why_not():
    files = [
        SourceFile(path="/p/a.hip", name="a.hip", excerpts=[Excerpt(first=3, text=["x", "y"]), Excerpt(first=9, text=["z"])]),
        SourceFile(path="/p/b.h", name="b.h", excerpts=None, reasons={"excerpts": "it is not a file"}),
    ]
    document = SourceDocument.model_construct(files=files)
    assert files_of(document) == [
        {"name": "a.hip", "why": None, "excerpts": [[3, ["x", "y"]], [9, ["z"]]]},
        {"name": "b.h", "why": "it is not a file", "excerpts": []},
    ]
    assert names_of(document) == {"/p/a.hip": "a.hip", "/p/b.h": "b.h"}
