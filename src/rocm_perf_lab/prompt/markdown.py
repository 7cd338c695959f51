"""Writes Markdown in which foreign text remains data: the text can neither close its fence nor begin a line outside it."""

from __future__ import annotations

import re


def fenced(text: str, language: str = "text") -> str:
    """A fenced block whose fence is longer than any run of backticks in the text (CommonMark 0.31, section 4.5)."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def span(text: str) -> str:
    """Formats a kernel's or a file's name for use in a line of prose."""
    line = " ".join(text.split())
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    return f"{fence}{line}{fence}" if len(fence) == 1 else f"{fence} {line} {fence}"
