"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines) + "\n"


def _cell(value: object) -> str:
    text = "" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)
    return " ".join(text.replace("|", "\\|").split())
