"""Paragraphs on a terminal: where lines break, and how far they are indented."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from rocm_perf_lab.report.terminal_paragraphs import heading, labelled, say


def printed(render, *given, width: int = 20, **named) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width)
    render(console, *given, **named)
    return out.getvalue().splitlines()


def test_a_paragraph_is_indented_and_wrapped():
    assert printed(say, "one two three four five") == ["  one two three four", "  five"]
    assert printed(say, "one two three four five", indent=0) == ["one two three four", "five"]
    assert printed(say, "[bold]a[/bold] b") == ["  [bold]a[/bold] b"]


def test_a_list_item_has_a_hanging_indent():
    assert printed(say, "- one two three four") == ["  - one two three", "    four"]
    assert printed(say, "- one two three four", indent=4) == ["    - one two", "      three four"]


def test_a_heading_follows_an_empty_line():
    assert printed(heading, "one two three four five") == ["", "one two three four", "five"]


def test_text_beside_a_label():
    assert printed(labelled, "Kernel", "one two three") == ["  Kernel  one two", "          three"]
    assert printed(labelled, "", "one") == ["          one"]
    assert printed(labelled, "Whatever it is", "one", width=40) == ["  Whatever it isone"]


@pytest.mark.parametrize("unit", ["%", "ns", "ms", "s", "B", "KiB", "GB/s", "FLOP", "GFLOP/s", "FLOP/byte"])
def test_a_number_and_its_unit_stay_together(unit):
    text = f"abc {'x' * (13 - len(unit))} 5 {unit}"
    assert printed(say, text) == [f"  abc {'x' * (13 - len(unit))}", f"  5 {unit}"]
    assert printed(say, text, width=21) == printed(say, text) and printed(say, text, width=22) == [f"  {text}"]


@pytest.mark.parametrize("word", ["sheep", "nsx", "MBs"])
def test_other_words_may_begin_a_line(word):
    text = f"abc {'x' * (14 - len(word))} 5 {word}"
    assert printed(say, text)[1].strip() in (word, f"5 {word}") and printed(say, f"{'x' * 15} 5 {word}") == [
        f"  {'x' * 15} 5",
        f"  {word}",
    ]
