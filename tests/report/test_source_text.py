"""A listing of a kernel's code, word for word."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from rocm_perf_lab.report.source_schema import (
    AwaitedAccess,
    CodeInstruction,
    CodeWait,
    SourceDocument,
    SourceKernel,
)
from rocm_perf_lab.report.source_text import render_source


def listing(accesses: int, left_out: int = 0) -> list[str]:
    """Of a kernel without line numbers that loads so many times and then waits for all."""
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


def test_what_is_left_out_is_said():
    assert "1,234 instructions are left out" in listing(1, 1234)
    assert not [line for line in listing(1) if "left out" in line]
