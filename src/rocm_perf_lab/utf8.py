"""Text that may hold names of files, which are any bytes: Python has bytes that are no UTF-8 as lone surrogates."""

from __future__ import annotations


def utf8(text: str) -> bytes:
    """As UTF-8, a lone surrogate as an escape such as \\udcff, which stands for the same within a string of JSON."""
    return text.encode("utf-8", "backslashreplace")
