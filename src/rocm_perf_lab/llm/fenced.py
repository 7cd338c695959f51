"""The fenced blocks of an answer in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NEWLINE = re.compile(r"\r\n|\n|\r")


def blocks_in(answer: str, languages: Sequence[str]) -> list[str | None]:
    """The contents of the fenced blocks in these languages; None for a block that is never closed. languages: in lower case."""
    from markdown_it import MarkdownIt

    lines = _NEWLINE.sub("\n", answer).split("\n")
    # Only fences are parsed: other rules take quadratic time on hostile input.
    fences = [token for token in MarkdownIt("zero").enable("fence").parse("\n".join(lines)) if token.type == "fence"]
    contents: list[str | None] = []
    for block in fences:
        if (block.info.split() or [""])[0].lower() in languages:
            first, end = block.map or (0, 0)
            is_closed = end - first >= 2 and lines[end - 1].strip().startswith(block.markup)
            contents.append(block.content if is_closed else None)
    return contents
