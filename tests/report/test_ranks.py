"""The tables of ranks and of kernels over ranks, at any width."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from rocm_perf_lab import __version__
from rocm_perf_lab.report.schema import KernelOverRanks, RankSummary, SummaryDocument, Tool
from rocm_perf_lab.report.terminal_ranks import render_ranks
from rocm_perf_lab.text import quantities

NAMES = st.text("abc", min_size=1, max_size=80)
MS = st.floats(0.001, 1e6)
RANKS = st.lists(st.tuples(st.integers(0, 4095), NAMES, st.integers(1, 4_000_000), MS, MS, st.integers(1, 10**9), NAMES),
                 min_size=1, max_size=4)  # fmt: skip
KERNELS = st.lists(st.tuples(NAMES, MS, MS, MS, st.integers(1, 10**9)), min_size=1, max_size=4, unique_by=lambda row: row[0])


@settings(max_examples=50)
@given(RANKS, KERNELS, st.integers(40, 200))
def test_every_number_is_shown_and_kernel_names_differ(ranks, kernels, width):
    out = io.StringIO()
    render_ranks(summary(ranks, kernels), Console(file=out, width=width))
    text = out.getvalue()
    assert text.splitlines()[0] == f"{len(ranks)} ranks"
    assert all(len(line) <= width for line in text.splitlines())
    for number, _host, pid, span, time, dispatches, _kernel in ranks:
        for shown in (str(number), str(pid), quantities.duration(span * 1e6), quantities.duration(time * 1e6), str(dispatches)):
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


def rows_of(of_ranks: int, of_kernels: int, **changed) -> list[list[str]]:
    """The words of each line. Ranks have spans of 1 ms, 2 ms and so on."""
    ranks = [(number, "node", 100 + number, number + 1.0, 0.5, 7, "k") for number in range(of_ranks)]
    found = summary(ranks, [(f"k{number}", 4.0, 1.0, 3.0, 9) for number in range(of_kernels)])
    out = io.StringIO()
    render_ranks(found.model_copy(update=changed), Console(file=out, width=200))
    return [line.split() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("count, shown, more", [(15, 15, None), (16, 16, None), (17, 16, "1"), (40, 16, "24")])
def test_the_sixteen_slowest_ranks_and_the_first_sixteen_kernels(count, shown, more):
    for ranks, kernels in ((count, 1), (1, count)):
        found = rows_of(ranks, kernels)
        rest = [row[0] for row in found if row[1:] == ["more", "in", "summary.json."]]
        assert rest == ([more] if more else [])
        listed = [row[2] for row in found if len(row) > 2 and row[1] == "node"]
        assert listed == [str(100 + ranks - 1 - place) for place in range(min(ranks, shown))]
        names = [row[0] for row in found if row and re.fullmatch(r"k\d+", row[0])]
        assert names == [f"k{number}" for number in range(min(kernels, shown))]


def test_ranks_without_a_number_or_a_span_come_last_and_are_numbered_by_position():
    assert rows_of(3, 1)[2] == ["2", "node", "102", "3", "ms", "500", "us", "7", "k", "50.0", "%"]
    one = summary([(5, "node", 1, 0.5, 0.5, 7, "k")], []).ranks[0]
    unknown = one.model_copy(update=dict(rank=None, span_ms=None, kernel_time_ms=None, dominant_symbol=None, fraction=None))
    found = rows_of(1, 1, ranks=[unknown, one, one.model_copy(update={"rank": 3})])
    assert [row[0] for row in found[2:5]] == ["5", "3", "0"]
    assert found[4] == ["0", "node", "1", "?", "?", "7", "?", "?"]


@pytest.mark.parametrize("imbalance, words", [(1.256, "1.26"), (None, "?")])
def test_a_kernel_over_all_ranks(imbalance, words):
    kernel = summary([], [("sum()", 4.0, 1.0, 3.0, 9)]).kernels[0].model_copy(update={"imbalance": imbalance, "ranks": 2})
    found = rows_of(1, 1, kernels=[kernel], notes=["one is left out"])
    assert ["sum", "4", "ms", "1", "ms", "3", "ms", words, "9", "2"] in found and ["-", "one", "is", "left", "out."] in found


@pytest.mark.parametrize("slowest, words", [(0, "The slowest rank"), (2, "The slowest rank"), (None, "The first rank")])
def test_which_rank_follows(slowest, words):
    assert " ".join(rows_of(1, 1, slowest_rank=slowest)[-1]) == words
