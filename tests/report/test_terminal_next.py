"""What to do next, and the commands that collect missing counters, ready to be copied."""

from __future__ import annotations

import io
import types

import pytest
from rich.console import Console

from rocm_perf_lab.arch.counter_passes import counter_passes
from rocm_perf_lab.report.schema import BottleneckSection, KernelAnalysis, ProfileDocument
from rocm_perf_lab.report.terminal_next import render_next


def printed(timing: str, command: str = "./app", advice=(), target: str = "gfx942", width: int = 400) -> list[str]:
    """The text for a kernel whose cause cannot be decided."""
    run = types.SimpleNamespace(command=command)
    profile = ProfileDocument.model_construct(timing=timing, gpu=types.SimpleNamespace(target=target), run=run)
    bottleneck = BottleneckSection.model_construct(advice=[*advice], undecided={"memory-bound": "no counters"})
    out = io.StringIO()
    render_next(profile, KernelAnalysis.model_construct(bottleneck=bottleneck), Console(file=out, width=width))
    return out.getvalue().splitlines()[1:]


@pytest.mark.parametrize(
    "command, program",
    [("./app --n 3", "./app --n 3"), ("zapp", "zapp"), ("an unnamed program", "PROGRAM")],
)
def test_each_pass_is_a_command(command, program):
    head, said, *commands = printed("measured", command)
    assert head == "What to try next"
    assert said == "  - collect the missing counters, then give all databases to `rocm-perf analyze` together:"
    assert commands == [
        f"    rocprofv3 --pmc {' '.join(counters)} --output-format rocpd -d counters -- {program}"
        for counters in counter_passes("gfx942")
    ]
    assert len(commands) > 1 and [*printed("measured", command, width=40)[-len(commands) :]] == commands


@pytest.mark.parametrize(
    "timing, target, how",
    [
        ("modelled", "gfx942", "profile without --no-roofline"),
        ("measured", "gfx803", "rocm-perf knows no counters of this GPU"),
    ],
)
def test_without_passes_there_is_no_command(timing, target, how):
    (line,) = printed(timing, target=target)[1:]
    assert line == f"  - collect the missing counters: without them, no cause can be identified ({how})"


def test_advice_comes_before_counters():
    assert printed("measured", advice=["unroll", "pad"])[1:] == ["  - unroll", "  - pad"]
