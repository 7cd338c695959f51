"""Kernels under their roofs, as the terminal shows them."""

from __future__ import annotations

import io
import types

import pytest
from rich.console import Console

from rocm_perf_lab.report.schema import ArithmeticSection, LevelSection, RooflineSection
from rocm_perf_lab.report.terminal_roofs import render_all_roofs, render_roof
from rocm_perf_lab.text.names import KernelNames


def level(name: str, size: float | None, measured: float | None = None) -> LevelSection:
    return LevelSection.model_construct(
        level=name, bytes=size, gbps=100.0, peak_gbps=400.0, fraction=0.25, measured_gbps=measured,
        fraction_of_measured=None if measured is None else 100.0 / measured,
    )  # fmt: skip


def pipe(precision: str, flop: float | None, measured: float | None = None) -> ArithmeticSection:
    return ArithmeticSection.model_construct(
        precision=precision, pipe="valu", flop=flop, gflops=50.0, peak_gflops=500.0, fraction=0.1, measured_gflops=measured,
        fraction_of_measured=None if measured is None else 50.0 / measured,
    )  # fmt: skip


def roof(kernel: str = "k()", **changed) -> RooflineSection:
    given = dict(
        kernel=kernel, position="memory-bound", operational_intensity=0.5, ridge=12.5, fraction_of_ceiling=0.25, gflops=50.0,
        attainable_gflops=200.0, levels=[level("HBM", 2048.0), level("L2", None)], reasons={},
        arithmetic=[pipe("f32", 1e6), pipe("f64", 0.0)],
    )  # fmt: skip
    return RooflineSection.model_construct(**(given | changed))


def printed(render, *given) -> list[str]:
    out = io.StringIO()
    render(*given, Console(file=out, width=200))
    return [" ".join(line.split()) for line in out.getvalue().splitlines() if line.strip()]


def test_levels_and_pipes_that_a_kernel_uses():
    assert printed(render_roof, roof()) == [
        "Roofline: memory-bound at 0.5 FLOP/byte; ridge 12.5 FLOP/byte. It reaches 25.0 % of that ceiling (50 GFLOP/s).",
        "level bytes attained peak of peak",
        "HBM 2.0 KiB 100 GB/s 400 GB/s 25.0 %",
        "VALU f32 1,000,000 FLOP 50 GFLOP/s 500 GFLOP/s 10.0 %",
    ]


@pytest.mark.parametrize("of_level, of_pipe", [(200.0, None), (None, 100.0), (200.0, 100.0)])
def test_measured_ceilings_have_columns_if_there_are_any(of_level, of_pipe):
    found = printed(render_roof, roof(levels=[level("HBM", 1.0, of_level)], arithmetic=[pipe("f32", 1e6, of_pipe)]))
    assert found[1] == "level bytes attained peak of peak measured of measured"
    assert found[2].endswith("25.0 % 200 GB/s 50.0 %" if of_level else "25.0 % ? ?")
    assert found[3].endswith("10.0 % 100 GFLOP/s 50.0 %" if of_pipe else "10.0 % ? ?")


@pytest.mark.parametrize(
    "changed, said",
    [
        (dict(ridge=None), "Roofline: memory-bound at 0.5 FLOP/byte. It reaches 25.0 % of that ceiling (50 GFLOP/s)."),
        (dict(gflops=0.0), "Roofline: memory-bound at 0.5 FLOP/byte; ridge 12.5 FLOP/byte. It reaches 25.0 % of that ceiling."),
        (dict(position=None, reasons={"position": "no counters"}), "Roofline: not known (no counters)."),
    ],
)
def test_where_it_is_under_the_roof(changed, said):
    assert printed(render_roof, roof(**changed))[0] == said
    assert printed(render_roof, roof(levels=[level("L2", None)], **changed)) == [said]


def all_roofs(*roofs: RooflineSection, total: RooflineSection | None = None, others=()) -> list[str]:
    symbols = [types.SimpleNamespace(kernel=one.kernel, kind="copy" if one.kernel in others else "kernel") for one in roofs]
    documents = types.SimpleNamespace(
        dag=types.SimpleNamespace(symbols=symbols), roofline=types.SimpleNamespace(kernels=roofs, total=total)
    )
    return printed(render_all_roofs, documents, KernelNames([one.kernel for one in roofs]))


def test_the_programs_kernels_and_their_total():
    unknown = roof("d()", position=None)
    found = all_roofs(
        roof("a()"), roof("b()", position="compute-bound"), roof("c()"), unknown, total=roof("all"), others=["c()"]
    )
    assert found == [
        "The kernels under the roofs",
        "kernel FLOP/byte attained under the roof of ceiling HBM side",
        "a 0.5 50 GFLOP/s 200 GFLOP/s 25.0 % 100 GB/s memory-bound",
        "b 0.5 50 GFLOP/s 200 GFLOP/s 25.0 % 100 GB/s compute-bound",
        "all 0.5 50 GFLOP/s 200 GFLOP/s 25.0 % 100 GB/s memory-bound",
    ]
    for total in (None, roof("all", position=None)):
        assert len(all_roofs(roof("a()"), roof("b()"), total=total)) == 4


def test_one_kernel_needs_no_table():
    assert all_roofs(roof("a()"), total=roof("all")) == [] == all_roofs(roof("a()"), roof("b()"), others=["b()"])
    assert all_roofs(roof("a()"), roof("b()", position=None)) == []


@pytest.mark.parametrize("count, shown", [(7, 7), (8, 8), (9, 8)])
def test_eight_kernels_are_shown(count, shown):
    assert len(all_roofs(*(roof(f"k{number}()") for number in range(count)))) == 2 + shown
