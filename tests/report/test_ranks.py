"""The tables of ranks and of kernels over ranks, at any width."""

from __future__ import annotations

import io
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from rocm_perf_lab import __version__
from rocm_perf_lab.report.schema import KernelOverRanks, RankSummary, SummaryDocument, Tool
from rocm_perf_lab.report.terminal_ranks import render_ranks
from rocm_perf_lab.text import words

NAMES = st.text("abc", min_size=1, max_size=80)
MS = st.floats(0.001, 1e6)
RANKS = st.lists(st.tuples(st.integers(0, 4095), NAMES, st.integers(1, 4_000_000), MS, MS, st.integers(1, 10**9), NAMES),
                 min_size=1, max_size=4)  # fmt: skip
KERNELS = st.lists(st.tuples(NAMES, MS, MS, MS, st.integers(1, 10**9)), min_size=1, max_size=4, unique_by=lambda row: row[0])


@settings(max_examples=50)
@given(RANKS, KERNELS, st.integers(40, 200))
def test_every_number_is_there_and_kernels_differ(ranks, kernels, width):
    out = io.StringIO()
    render_ranks(summary(ranks, kernels), Console(file=out, width=width))
    text = out.getvalue()
    assert text.splitlines()[0] == f"{len(ranks)} ranks"
    assert all(len(line) <= width for line in text.splitlines())
    for number, _host, pid, span, time, dispatches, _kernel in ranks:
        for shown in (str(number), str(pid), words.duration(span * 1e6), words.duration(time * 1e6), str(dispatches)):
            assert re.search(rf"(?<=\s){re.escape(shown)}(?=\s)", text), (shown, text)
    table = text[text.index("Kernels over all ranks") :]
    starts = {
        line.split()[0] for line in table.splitlines() if line.startswith("  ") and set(line.split()[0]) <= set("abc…#2345")
    }
    assert len(starts) == len(kernels), table


def summary(ranks, kernels) -> SummaryDocument:
    return SummaryDocument(
        tool=Tool(name="rocm-perf-lab", version=__version__),
        ranks=[
            RankSummary(rank=number, directory="r", database="d", command="./app", host=host, pid=pid, gpu="MI300X",
                        timing="measured", dispatches=dispatches, kernel_time_ms=time, span_ms=span, dominant_symbol=kernel,
                        fraction=0.5)
            for number, host, pid, span, time, dispatches, kernel in ranks
        ],
        slowest_rank=0,
        kernels=[
            KernelOverRanks(kernel=name, ranks=1, dispatches=count, total_ms=total, min_ms=least, max_ms=most, imbalance=1.5)
            for name, total, least, most, count in kernels
        ],
        notes=[],
    )  # fmt: skip
