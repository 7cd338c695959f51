"""Loops over millions of nodes, compiled; over few of them, the same functions as plain Python.

A loop is written once, in the part of Python that numba compiles, on integer arrays: so both ways give the same result.
numba is loaded, and compiles (or reads its cache), only when a loop is called with many elements: small traces never wait
for it. Without numba everything runs as plain Python, a hundred times slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

MANY = 30_000  # elements from which compiling is the shorter wait: plain Python needs about 1 us a step


class Loop:
    """A function on NumPy arrays of integers that chooses by the longest of them how it runs."""

    def __init__(self, function: Callable):
        self.plain = function
        self.__doc__ = function.__doc__
        self._compiled: Callable | None = None

    def __call__(self, *arguments: Any) -> Any:
        longest = max(len(argument) for argument in arguments if isinstance(argument, np.ndarray))
        return self.compiled(*arguments) if longest >= MANY else self.plain(*arguments)

    def compiled(self, *arguments: Any) -> Any:
        if self._compiled is None:
            self._compiled = _compile(self.plain)
        return self._compiled(*arguments)


def _compile(function: Callable) -> Callable:
    try:
        import numba
    except ImportError:
        return function
    return numba.njit(cache=True, nogil=True)(function)


def loop(function: Callable) -> Loop:
    """Decorator: see Loop."""
    return Loop(function)
