"""A listing of a kernel's code, word for word."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

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
from rocm_perf_lab.report.terminal_source import _of_kernel, render_source


def listing(accesses: int, left_out: int = 0) -> list[str]:
    """A kernel without line numbers that does this many loads and then waits for all of them."""
    loads = [
        CodeInstruction(address=8 * number, isa=f"global_load_dword v{number}, v0, s[0:1]", places=[])
        for number in range(accesses)
    ]
    wait = CodeInstruction(address=8 * accesses, isa="s_waitcnt vmcnt(0)", places=[])
    waited = [AwaitedAccess(address=one.address, times=1, ended=1, waited_cycles=5000 - one.address) for one in loads]
    kernel = SourceKernel.model_construct(
        kernel="sum(float*)",
        instructions=[*loads, wait],
        costs=None,
        lines=None,
        waits=[CodeWait(address=wait.address, accesses=waited, unexplained_cycles=0)],
        left_out=left_out,
        reasons={"costs": "it was not traced"},
    )
    out = io.StringIO()
    render_source(SourceDocument.model_construct(files=[], kernels=[kernel]), Console(file=out, width=120), isa=True)
    return [line.strip() for line in out.getvalue().splitlines() if line.strip()]


@pytest.mark.parametrize("accesses, more", [(2, []), (3, []), (4, ["and for 1 more"]), (6, ["and for 3 more"])])
def test_the_three_accesses_that_a_wait_waits_for_longest(accesses, more):
    lines = listing(accesses)
    wait = next(place for place, line in enumerate(lines) if "s_waitcnt" in line)
    named = [
        f"waits for {8 * number:#08x}, {5000 - 8 * number:,} cycles: global_load_dword" for number in range(min(accesses, 3))
    ]
    assert lines[wait + 1 :] == [*named, *more]
    assert "no cycles: it was not traced" in lines and "no line numbers: compile with -g" in lines


def test_omitted_parts_are_mentioned():
    assert "1,234 instructions are left out" in listing(1, 1234)
    assert not [line for line in listing(1) if "left out" in line]


def at(*places: tuple[int, int]) -> list[SourceLocation]:
    return [SourceLocation(file=file, line=line) for file, line in places]


def cost(share: float, stall: int, hits: int, latency: int = 0, idle: int = 0) -> dict:
    return dict(share=share, stall_cycles=stall, hits=hits, latency_cycles=latency, idle_cycles=idle)


def instruction(address: int, isa: str, *places: tuple[int, int]) -> CodeInstruction:
    return CodeInstruction(address=address, isa=isa, places=at(*places))


def line_cost(place: tuple[int, int], waited: int, **costs) -> LineCost:
    return LineCost(place=at(place)[0], waited_cycles=waited, **costs)


CODE = [
    instruction(0x100, "global_load v1", (0, 5), (0, 12)),
    instruction(0x108, "s_waitcnt vmcnt(0)", (0, 9)),
    instruction(0x110, "v_add v1", (1, 2), (0, 9)),
    instruction(0x118, "s_endpgm"),
]
COSTS = [cost(0.0625, 2, 8), cost(0.8, 12_000, 8), cost(0.0375, 0, 8), cost(0.0, 0, 0)]
LINES = [
    line_cost((0, 9), 0, **cost(0.8, 12_000, 8, latency=1_000, idle=10)),
    line_cost((1, 2), 0, **cost(0.1, 0, 8, latency=500, idle=600)),
    line_cost((0, 5), 11_000, **cost(0.0999, 2, 8, latency=80)),
    line_cost((0, 40), 0, **cost(0.0, 0, 1)),
]
WAITS = [
    CodeWait(
        address=0x108,
        accesses=[AwaitedAccess(address=address, times=1, ended=1, waited_cycles=11_000) for address in (0x100, 0x118, 0x999)],
        unexplained_cycles=0,
    )
]
FILES = [
    SourceFile(
        path="/p/a.hip",
        name="a.hip",
        excerpts=[
            Excerpt(first=1, text=[f"line {number}" for number in range(1, 13)]),
            Excerpt(first=20, text=["of another kernel"]),
        ],
    ),
    SourceFile(path="/p/b.h", name="b.h", excerpts=None, reasons={"excerpts": "it is not a file"}),
]


def source_kernel(**changed) -> SourceKernel:
    given = dict(kernel="sum()", waves=3, instructions=CODE, left_out=0, lines=LINES, waits=WAITS, reasons={})
    given["costs"] = [InstructionCost(**one) for one in COSTS]
    return SourceKernel.model_construct(**(given | changed))


def shown(*kernels: SourceKernel, files=FILES, isa: bool = False, width: int = 400, styles: bool = False) -> list[str]:
    """The lines that are printed below the name of the first kernel."""
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=styles, color_system="standard" if styles else None)
    render_source(SourceDocument.model_construct(files=[*files], kernels=[*kernels], timing="modelled"), console, isa)
    return out.getvalue().splitlines()[2:]


HEADS = "  of cycles  stalled  waited for  executions"


def test_the_lines_of_a_traced_kernel():
    meaning, heads, *found = shown(source_kernel())
    assert meaning.startswith("  3 waves on one CU, times modelled; of cycles: share of ") and heads == HEADS
    assert found == [
        "",
        "  b.h",
        "  its text is not shown: it is not a file",
        "     10.0 %        0           0           8     2",
        "",
        "  a.hip",
        "                                                 3  line 3",
        "                                                 4  line 4",
        "     10.0 %        2      11,000           8     5  line 5",
        "                                                 6  line 6",
        "                                                 7  line 7",
        "                                                 8  line 8",
        "     80.0 %   12,000           0           8     9  line 9",
        "                                                10  line 10",
        "                                                11  line 11",
        "  ...",
        "      0.0 %        0           0           1    40",
    ]


def test_the_instructions_below_their_lines():
    found = shown(source_kernel(), isa=True)
    place = found.index("     10.0 %        2      11,000           8     5  line 5")
    assert found[place + 1] == "      6.2 %        2                       8        0x000100  global_load v1"
    place = found.index("     80.0 %   12,000           0           8     9  line 9")
    assert found[place + 1 : place + 4] == [
        "     80.0 %   12,000                       8        0x000108  s_waitcnt vmcnt(0)",
        f"{'':62}waits for 0x000100 in line 5, 11,000 cycles: global_load",
        f"{'':62}waits for 0x000118, 11,000 cycles: s_endpgm",
    ]
    assert found[-3:] == ["", "  no line number", "                                                    0x000118  s_endpgm"]
    assert "      3.8 %        0                       8        0x000110  v_add v1" in found


def test_a_kernel_that_was_not_traced():
    one = source_kernel(costs=None, lines=None, waits=None, reasons={"costs": "it was not traced"})
    said, *found = shown(one)
    assert said == "  no cycles: it was not traced"
    assert found[:5] == ["", "  a.hip", "     3  line 3", "     4  line 4", "     5  line 5"]
    assert found[-4:] == ["", "  b.h", "  its text is not shown: it is not a file", "     2"]
    assert shown(one, isa=True)[6:8] == ["        0x000100  global_load v1", "     6  line 6"]


@pytest.mark.parametrize(
    "waves, words", [(None, "waves"), (0, "0 waves"), (1, "1 wave"), (2, "2 waves"), (1234, "1,234 waves")]
)
def test_the_traced_waves(waves, words):
    assert shown(source_kernel(waves=waves))[0].startswith(f"  {words} on one CU, times modelled; ")


def test_a_kernel_that_is_not_shown_hides_no_other():
    hidden = source_kernel(instructions=None, reasons={"instructions": "too many"})
    assert shown(hidden) == ["  not shown: too many"]
    assert shown(hidden, source_kernel())[1:] == ["", "sum()", *shown(source_kernel())]


def test_instructions_without_a_line_are_listed_if_there_are_no_others():
    without = [instruction(0x100, "s_nop 0"), instruction(0x108, "s_endpgm")]
    one = source_kernel(instructions=without, lines=[], waits=[], costs=[InstructionCost(**COSTS[0])] * 2)
    listed = [
        "  no line numbers: compile with -g",
        "      6.2 %        2                       8        0x000100  s_nop 0",
        "      6.2 %        2                       8        0x000108  s_endpgm",
    ]
    assert shown(one)[2:] == shown(one, isa=True)[2:] == ["", *listed]
    every = source_kernel(instructions=CODE[:3], costs=[InstructionCost(**one) for one in COSTS[:3]])
    assert not [line for line in shown(every, isa=True) if "no line number" in line]


def test_what_stands_out_is_bold_and_what_has_no_code_is_dim():
    styled = shown(source_kernel(), styles=True)
    style = {line.split()[-1].removesuffix("\x1b[0m"): line[:4] for line in styled if line.startswith("\x1b")}
    assert style["executions"] == style["..."] == style["40"] == "\x1b[2m"
    assert style["b.h"] == style["a.hip"] == style["2"] == style["9"] == "\x1b[1m"
    assert style["3"] == style["8"] == "\x1b[2m" and "5" not in style


def test_numbers_that_are_wider_than_their_header_widen_the_column():
    wide = [line_cost((0, 5), 123_456_789_000, **cost(0.5, 1_234_567, 1))]
    costs = [InstructionCost(**cost(0.5, 1, 98_765_432_100))] * 4
    heads, *_ = [line for line in shown(source_kernel(lines=wide, costs=costs)) if "executions" in line and "share" not in line]
    assert heads == "  of cycles    stalled       waited for      executions"


@pytest.mark.parametrize("costs, before", [(None, 8), ([InstructionCost(**COSTS[0])], 52)])
@pytest.mark.parametrize("beyond", [-1, 0, 1, 20])
def test_at_least_24_characters_of_a_line_are_shown_and_more_if_they_fit(costs, before, beyond):
    for width, room in ((10, before + 24), (before + 24, before + 24), (120, 120)):
        text = "".join(chr(ord("a") + place % 26) for place in range(room - before + beyond))
        files = [SourceFile(path="/p/a.hip", name="a.hip", excerpts=[Excerpt(first=1, text=[text])])]
        one = source_kernel(instructions=[instruction(0, "s_nop", (0, 1))], costs=costs, lines=[], reasons={"costs": "not"})
        *_, line = shown(one, files=files, width=width)
        assert line[before:] == (text if beyond <= 0 else f"{text[: room - before - 1]}…") and len(line) <= room


def test_the_file_with_the_most_cycles_comes_first():
    of_first = line_cost((0, 9), 0, **cost(0.5, 0, 1, latency=70))
    for idle, names in ((9, ["  a.hip", "  b.h"]), (11, ["  b.h", "  a.hip"])):
        of_second = line_cost((1, 2), 0, **cost(0.5, 0, 1, latency=60, idle=idle))
        found = shown(source_kernel(lines=[of_first, of_second]))
        assert [line for line in found if line in ("  a.hip", "  b.h")] == names


@pytest.mark.parametrize(
    "lines, numbers",
    [
        ([15], [[13, 14, 15, 16, 17]]),
        ([12, 19], [[*range(11, 22)]]),
        ([30], [[30, 31]]),
        ([11, 30], [[11, 12, 13], [30, 31]]),
        ([99], [[99]]),
        ([30, 99], [[30, 31], [99]]),
        ([], []),
    ],
)
def test_two_lines_before_and_after_those_of_the_kernel(lines, numbers):
    """From the excerpts of all kernels, lines 11 to 25 and 30 to 31."""
    excerpts = [Excerpt(first=first, text=[f"line {first + n}" for n in range(count)]) for first, count in ((11, 15), (30, 2))]
    found = [*_of_kernel(SourceFile(path="a", name="a", excerpts=excerpts), lines)]
    assert [[number for number, _ in part] for part in found] == numbers
    assert all(text == ("" if number == 99 else f"line {number}") for part in found for number, text in part)
