"""Writes Markdown in which embedded text stays data: it can neither close its fence nor begin a line outside the fence."""

from __future__ import annotations

import re


def fenced(text: str, language: str = "text") -> str:
    """A fenced block whose fence is longer than any run of backticks in the text (CommonMark 0.31, section 4.5)."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def span(text: str) -> str:
    """Formats the name of a kernel or file for use in running text."""
    line = " ".join(text.split())
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    return f"{fence}{line}{fence}" if len(fence) == 1 else f"{fence} {line} {fence}"
