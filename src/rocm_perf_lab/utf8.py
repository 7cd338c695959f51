"""Text that may contain file names, which can be any bytes: Python represents bytes that are not UTF-8 as lone surrogates."""

from __future__ import annotations


def utf8(text: str) -> bytes:
    """Encode as UTF-8; a lone surrogate becomes an escape such as \\udcff, which has the same meaning within a JSON string."""
    return text.encode("utf-8", "backslashreplace")
