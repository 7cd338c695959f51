"""SDWA selectors: the part of an operand that they take, and the place of a result."""

from __future__ import annotations

import numpy as np

SELECTS = ["BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"]


def field(select: str) -> tuple[int, int]:
    """(shift, width) of a selector."""
    if select == "DWORD":
        return 0, 32
    kind, index = select.split("_")
    width = 8 if kind == "BYTE" else 16
    return int(index) * width, width


def selected(values: np.ndarray, select: str, signed: bool) -> np.ndarray:
    shift, width = field(select)
    part = values >> shift & ((1 << width) - 1)
    return (part ^ 1 << (width - 1)) - (1 << (width - 1)) & 0xFFFFFFFF if signed and width < 32 else part


def placed(result: np.ndarray, old: np.ndarray, select: str, unused: str) -> np.ndarray:
    shift, width = field(select)
    mask = (1 << width) - 1
    part = (result & mask) << shift
    if unused == "UNUSED_PRESERVE":
        return old & ~(mask << shift) & 0xFFFFFFFF | part
    if unused == "UNUSED_SEXT":
        above = 0xFFFFFFFF & ~((1 << (shift + width)) - 1)
        return np.where(result >> (width - 1) & 1, part | above, part)
    return part
