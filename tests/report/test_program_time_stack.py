"""The program's time as text: rows that sum to it, and intervals where orders were sampled."""

from __future__ import annotations

import io
import re
from fractions import Fraction

import pytest
from rich.console import Console

from rocm_perf_lab.analysis.program_time_stack import ProgramPart, ProgramStack
from rocm_perf_lab.report.program_time_stack import program_stack_section, render_program_stack
from rocm_perf_lab.text.names import KernelNames

PARTS = (
    ProgramPart("atomics", Fraction(400_000), 20_000.0, 300_000, 100_000, ("a",)),
    ProgramPart("barriers", Fraction(100_000), 0.0, 100_000, 50_000, ("a", "b")),
    ProgramPart("scratch", Fraction(5_000), 1_000.0, 0, 5_000, ("b",)),
)


def stack(orders: int | None) -> ProgramStack:
    return ProgramStack(1_000_000, PARTS, 495_000, 200_000, 100_000, ("a", "b"), orders, (), (), None)


@pytest.mark.parametrize("orders", [None, 200])
def test_rows_sum_to_the_programs_time(orders):
    section = program_stack_section(stack(orders))
    assert set(section.reasons) == {"dominant_symbol", *(["orders"] if orders is None else [])}
    console = Console(file=io.StringIO(), width=120)
    render_program_stack(section, KernelNames(["a", "b"]), console)
    text = console.file.getvalue()
    assert "The program's 1 ms by cause, from experiments with a, b on the critical path:" in text
    first = re.findall(r"^ +\S.*?  +(\d+\.\d) %", text, re.MULTILINE)
    assert sum(map(float, first)) == pytest.approx(100) and len(first) == 6
    assert re.search(r"atomics +40\.0 % ± 2\.0 % +30\.0 % +10\.0 %", text) and re.search(r"smaller causes +0\.5 %", text)
    assert ("from 200 of all orders" in text) == (orders is not None)
