"""Paragraphs, headings and tables of the report for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text


def heading(console: Console, text: str) -> None:
    console.print()
    say(console, text, style="bold cyan", indent=0)


def say(console: Console, text: str, style: str = "", indent: int = 2) -> None:
    """A paragraph, wrapped with a hanging indent if it is a list item."""
    # Text, not markup: kernel names can hold square brackets.
    hanging = indent + 2 if text.startswith("- ") else indent
    for number, line in enumerate(Text(text, style=style).wrap(console, console.width - hanging)):
        line.rstrip()
        console.print(Text(" " * (hanging if number else indent)) + line, no_wrap=True, crop=False, overflow="ignore")


def text_table(first: str, *rest: str) -> Table:
    table = Table(box=None, padding=(0, 0, 0, 2), header_style="dim")
    table.add_column(first, no_wrap=True)
    for name in rest:
        table.add_column(name, justify="right", no_wrap=True)
    return table
