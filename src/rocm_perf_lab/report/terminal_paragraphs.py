"""Paragraphs and headings of the terminal report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_LABEL_WIDTH = 8

_UNIT = re.compile(r"(?<=\d) (?=%|(?:ns|us|ms|s|B|[KMG]iB|GB/s|FLOP|GFLOP/s|FLOP/byte)\b)")
_GLUE = "\ue000"  # stands for a no-break space; rich breaks lines at every Unicode space


def heading(console: Console, text: str) -> None:
    console.print()
    say(console, text, style="bold cyan", indent=0)


def say(console: Console, text: str, style: str = "", indent: int = 2) -> None:
    """Print a paragraph, wrapped, with a hanging indent if it is a list item."""
    from rich.text import Text

    # Text, not markup, because kernel names can contain square brackets.
    hanging = indent + 2 if text.startswith("- ") else indent
    for number, line in enumerate(_wrapped(text, console, console.width - hanging)):
        start = Text(" " * (hanging if number else indent))
        console.print(start + Text(line, style=style), no_wrap=True, crop=False, overflow="ignore")


def labelled(console: Console, label: str, text: str) -> None:
    """Print the label and, next to it, the wrapped text."""
    from rich.text import Text

    before = f"  {label:<{_LABEL_WIDTH}}"
    for number, line in enumerate(_wrapped(text, console, console.width - len(before))):
        start = Text(before if number == 0 else " " * len(before), style="dim")
        console.print(start + Text(line), no_wrap=True, crop=False, overflow="ignore")


def _wrapped(text: str, console: Console, width: int) -> Iterator[str]:
    """The text wrapped into lines, with each number and its unit on the same line."""
    from rich.text import Text

    for line in Text(_UNIT.sub(_GLUE, text)).wrap(console, width):
        yield line.plain.rstrip().replace(_GLUE, " ")
