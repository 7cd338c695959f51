"""Tables at any width: numbers are never cut, names of different things differ, and no line is too long."""

from __future__ import annotations

import io
import re
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from rocm_perf_lab.report.terminal_table import Table, _print
from rocm_perf_lab.text import quantities
from rocm_perf_lab.text.names import NameCell

HEADINGS = ("kernel", "on path", "to win of the span", "least slack", "dispatches", "then dominates")


def printed(headings, rows, width):
    table = Table(*headings)
    for row in rows:
        table.add_row(*row)
    out = io.StringIO()
    table.show(Console(file=out, width=width))
    return out.getvalue()


NUMBERS = st.one_of(
    st.floats(0, 1e15).map(quantities.duration),
    st.floats(0, 100).map(quantities.percent),
    st.integers(0, 10**12).map(lambda value: quantities.amount(value, "FLOP")),
    st.floats(0, 1e6).map(lambda value: quantities.amount(value, "GFLOP/s")),
)
NAMES = st.text("abc_<>:", min_size=1, max_size=90)
ROWS = st.lists(st.tuples(NAMES, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NAMES), min_size=1, max_size=6)


@given(ROWS, st.integers(40, 220))
@example([("k" * 90, *["16,777,216,000,000 FLOP"] * 4, "c" * 90)], 40)
def test_numbers_are_never_cut_and_names_differ_at_any_width(rows, width):
    text = printed(HEADINGS, [(NameCell(first), *numbers, NameCell(last)) for first, *numbers, last in rows], width)
    lines = text.splitlines()
    assert all(len(line) <= width and line == line.rstrip() for line in lines)
    wanted = Counter(number for _first, *numbers, _last in rows for number in numbers)
    for number, times in wanted.items():
        assert len(re.findall(rf"(?<= ){re.escape(number)}(?= |$)", text, re.M)) >= times, (number, text)
    words_of_headings = set(" ".join(HEADINGS).split())
    data = [line.split() for line in lines if not set(line.split()) <= words_of_headings]
    assert len({line[0] for line in data}) == len({first for first, *_ in rows}), text


def test_names_are_shortened_first_then_headings_then_columns_move_below():
    rows = [(NameCell("a_kernel_with_a_very_long_name_forward"), "1.23 us", "45.6 %", "789 ns", "12,345", NameCell("other"))]
    assert printed(HEADINGS, rows, 200).splitlines() == [
        "  kernel                                  on path  to win of the span  least slack  dispatches  then dominates",
        "  a_kernel_with_a_very_long_name_forward  1.23 us              45.6 %       789 ns      12,345           other",
    ]
    assert printed(HEADINGS, rows, 105).splitlines()[1].startswith("  a_kernel_with_a_…ong_name_forward  1.23 us")
    assert printed(HEADINGS, rows, 80).splitlines() == [
        "                                           to win",
        "                                           of the   least                   then",
        "  kernel                          on path    span   slack  dispatches  dominates",
        "  a_kernel_with_a…g_name_forward  1.23 us  45.6 %  789 ns      12,345      other",
    ]
    assert printed(HEADINGS, rows, 60).splitlines()[2:] == [
        "  kernel                 on path    span   slack  dispatches",
        "  a_kernel_w…me_forward  1.23 us  45.6 %  789 ns      12,345",
        "                              then",
        "  kernel                 dominates",
        "  a_kernel_w…me_forward      other",
    ]


def test_a_table_is_never_narrower_than_a_number_and_never_cuts_one():
    rows = [(NameCell("k"), "123,456,789,012,345,678,901,234,567,890 FLOP")]
    assert "123,456,789,012,345,678,901,234,567,890 FLOP" in printed(("kernel", "work"), rows, 20)


def test_a_row_with_another_length_is_a_programming_error():
    with pytest.raises(ValueError, match="1 cells for 2 columns"):
        Table("a", "b").add_row("1")


@pytest.mark.parametrize("show_line", [_print, lambda console, line: console.print(line)], ids=["ours", "the library's"])
def test_a_line_is_broken_only_where_the_table_breaks_it(show_line):
    out, line = io.StringIO(), " ".join(["16,777,216"] * 12)
    show_line(Console(file=out, width=40), line)
    assert (out.getvalue() == line + "\n") == (show_line is _print)
