"""The table of what the program would gain from removing each cause, row by row."""

from __future__ import annotations

import io
import types

import pytest
from rich.console import Console

from rocm_perf_lab.report.dag_schema import ProgramGainSection
from rocm_perf_lab.report.schema import BottleneckSection, KernelAnalysis, RemedySection
from rocm_perf_lab.report.terminal_gains import render_gains
from rocm_perf_lab.text.names import KernelNames


def gain(cause: str, *kernels: str, share: float = 0.25, then: str | None = None) -> ProgramGainSection:
    return ProgramGainSection.model_construct(cause=cause, kernels=[*kernels], gain=share, dominant_symbol=then)


def remedy(cause: str, of_kernel: float, of_program: float, then: str | None) -> RemedySection:
    return RemedySection.model_construct(cause=cause, gain=of_kernel, program_gain=of_program, then_dominant=then)


def kernel(name: str, *remedies: RemedySection) -> KernelAnalysis:
    return KernelAnalysis.model_construct(kernel=name, bottleneck=BottleneckSection.model_construct(remedies=[*remedies]))


def rows(gains, kernels) -> list[list[str]]:
    """The cells of each line that is printed."""
    documents = types.SimpleNamespace(
        dag=types.SimpleNamespace(program_gains=gains), analysis=types.SimpleNamespace(kernels=kernels)
    )
    out = io.StringIO()
    render_gains(documents, KernelNames([one.kernel for one in kernels]), Console(file=out, width=120))
    return [line.strip().split("  ") for line in out.getvalue().splitlines()]


def cells(row: list[str]) -> list[str]:
    return [cell.strip() for cell in row if cell.strip()]


def test_a_row_for_each_kernel_and_one_for_several_together():
    first = kernel(
        "void sum<int>(int*)", remedy("latency", 0.5, 0.125, "void scan(int*)"), remedy("barriers", 0.25, 0.0625, None)
    )
    second = kernel("void scan(int*)", remedy("latency", 0.0625, 0.03125, None))
    gains = [
        gain("latency", first.kernel, second.kernel, share=0.1875, then="void sum<int>(int*)"),
        gain("barriers", first.kernel, share=0.0625),
    ]
    said, heads, *found = map(cells, rows(gains, [first, second]))
    assert said == ["Gain from removing one cause, by experiments, with the critical path recomputed:"]
    assert heads == ["without", "kernel", "of its time", "of the program's", "then dominates"]
    assert found == [
        ["latency", "sum<int>", "50.0 %", "12.5 %", "scan"],
        ["latency", "scan", "6.2 %", "3.1 %", "?"],
        ["latency", "all of these", "18.8 %", "sum<int>"],
        ["barriers", "sum<int>", "25.0 %", "6.2 %", "?"],
    ]


def test_the_dominant_kernel_may_be_unknown_without_a_cause_in_several_kernels():
    kernels = [kernel(name, remedy("latency", 0.5, 0.5, "a")) for name in "ab"]
    assert cells(rows([gain("latency", "a", "b")], kernels)[-1]) == ["latency", "all of these", "25.0 %", "?"]


@pytest.mark.parametrize("causes, shown", [(5, 5), (6, 6), (7, 6)])
def test_the_six_causes_with_most_to_gain(causes, shown):
    names = [f"cause {number}" for number in range(causes)]
    found = rows([gain(name, "a") for name in names], [kernel("a", *(remedy(name, 0.5, 0.25, None) for name in names))])
    assert [row[0] for row in found[2:]] == names[:shown]


def test_nothing_is_printed_without_experiments():
    assert rows([], [kernel("a")]) == []
