"""Whole reports, as printed at four widths. ROCM_PERF_GOLDEN=write writes them again: read the difference."""

from __future__ import annotations

import io
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

import rocpd_database
from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.profiling.pipeline import analyse
from rocm_perf_lab.report.terminal import render
from rocm_perf_lab.report.terminal_short import render_short
from rocpd_database import Copy, Dispatch

GOLDEN = Path(__file__).parent / "golden"
WIDTHS = (60, 80, 120, 200)

_NONE = dict.fromkeys(family_of("gfx942").counters(), [0.0])
WAITS = _NONE | {
    "SQ_INSTS_VALU_FMA_F32": [125_000.0],
    "TCC_BUBBLE_sum": [50_000.0],
    "TCC_EA0_RDREQ_sum": [50_000.0],
    "TCP_TOTAL_CACHE_ACCESSES_sum": [64_000.0],
    "SQ_INSTS_VMEM": [1000.0],
    **dict.fromkeys(("SQ_BUSY_CYCLES", "SQ_BUSY_CU_CYCLES", "GRBM_GUI_ACTIVE", "GRBM_COUNT"), [400_000.0]),
    "SQ_WAVE_CYCLES": [5e8],
    "SQ_WAIT_ANY": [4.5e8],
}
STREAMS = WAITS | {"TCC_EA0_RDREQ_sum": [4e6], "TCC_EA0_RDREQ_32B_sum": [0.0], "SQ_WAIT_ANY": [1e8]}


def launched(grid: int, counters: dict[str, list[float]]) -> dict[str, list[float]]:
    """The counters of a dispatch with this many work-items."""
    return counters | {"SQ_WAVES": [grid / 64], "SQ_ITEMS": [float(grid)]}


GEMM = "void batched_matrix_multiplication_matrix_core_128x128x16{}<float, float, 128, 128, 16>(float const*, float*, int)"


@pytest.fixture
def trace(tmp_path):
    """Two kernels whose names differ in the middle, two that differ in their arguments, a helper of the runtime, and copies."""
    work = [
        Copy(0, 45_000, size=1 << 20),
        Dispatch("__amd_rocclr_fillBufferAligned", 47_000, 50_600, depends_on=[(0, "queue")]),
        Dispatch(GEMM.format(""), 52_000, 301_234, grid=1024, counters=launched(1024, WAITS), depends_on=[(1, "queue")]),
        Dispatch(
            GEMM.format("_IGLP"),
            303_000,
            443_000,
            grid=65_536,
            lds=16_384,
            counters=launched(65_536, STREAMS),
            depends_on=[(2, "queue")],
        ),
        Dispatch("scale(float*, int)", 445_000, 459_900, grid=4096, counters=launched(4096, WAITS), depends_on=[(3, "queue")]),
        Dispatch("scale(double*, int)", 461_000, 466_500, counters=launched(256, WAITS), depends_on=[(4, "queue")]),
        Copy(468_000, 515_700, depends_on=[(5, "queue")]),
    ]
    return rocpd_database.write(tmp_path / "t.db", work, rocpd_database.MODELLED)


def printed(trace: Path, width: int) -> str:
    out = io.StringIO()
    render(analyse(trace), Console(file=out, width=width))
    return out.getvalue()


def short(trace: Path, width: int) -> str:
    out = io.StringIO()
    render_short(analyse(trace), Path("t.rocm-perf"), Console(file=out, width=width))
    return out.getvalue()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("form", [printed, short], ids=["report", "short"])
def test_the_report_has_not_changed(trace, width, form):
    expected, text = GOLDEN / f"{'report' if form is printed else 'short'}_{width}.txt", form(trace, width)
    if os.environ.get("ROCM_PERF_GOLDEN") == "write":
        expected.write_text(text)
    assert text == expected.read_text()


@pytest.mark.parametrize("width", (40, 50, 60, 80, 120))
def test_every_number_of_the_widest_report_is_in_the_narrower_ones(trace, width):
    wide, narrow = numbers(printed(trace, 400)), numbers(printed(trace, width))
    assert len(wide) > 80 and not wide - narrow


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_longer_than_the_terminal_is_wide(trace, width):
    assert all(len(line) <= width for form in (printed, short) for line in form(trace, width).splitlines())


@pytest.mark.parametrize("width", (80, 120, 200))
def test_the_short_report_has_at_most_fifteen_lines(trace, width, tmp_path):
    assert len(short(trace, width).splitlines()) <= 15
    name = "void a_kernel_with_quite_a_long_name_that_fills_lines<float, 128, 128, 64, 32>(float*)"
    work = [Dispatch(name, 0, 10_000, counters=launched(256, WAITS)), Dispatch(name, 990_000, 1_000_000)]
    waiting = short(rocpd_database.write(tmp_path / "waiting.db", work, rocpd_database.MODELLED), width)
    assert "  But " in waiting and "  Try " in waiting and len(waiting.splitlines()) <= 15


def numbers(text: str) -> Counter:
    return Counter(re.findall(r"(?<=\s)[\d,.]*\dx?(?=\s)", text))
