"""Loops that run as compiled code over millions of nodes and as plain Python over a few.

A loop is written once, on integer arrays, in the subset of Python that numba compiles, so both ways give the same result.
numba is loaded, and compiles (or reads its cache), only when a loop is called with many elements, so small traces never wait
for it. Without numba, everything runs as plain Python, a hundred times slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

import numpy as np

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

MIN_COMPILED_ELEMENTS = 30_000  # compiling pays off from this many elements on: plain Python needs about 1 us per step


class LazyJit(Generic[_Arguments, _Result]):
    """A function on NumPy integer arrays that runs compiled or as plain Python, depending on its longest argument's length."""

    def __init__(self, function: Callable[_Arguments, _Result]):
        self.plain = function
        self.__doc__ = function.__doc__
        self._compiled: Callable[_Arguments, _Result] | None = None

    def __call__(self, *arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
        longest = max(len(argument) for argument in arguments if isinstance(argument, np.ndarray))
        return self.compiled(*arguments, **named) if longest >= MIN_COMPILED_ELEMENTS else self.plain(*arguments, **named)

    def compiled(self, *arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
        if self._compiled is None:
            self._compiled = _compile(self.plain)
        return self._compiled(*arguments, **named)


def _compile(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    try:
        import numba
    except ImportError:
        return function
    compiled: Callable[_Arguments, _Result] = numba.njit(cache=True, nogil=True)(function)
    return compiled


def lazy_jit(function: Callable[_Arguments, _Result]) -> LazyJit[_Arguments, _Result]:
    """Decorator; see LazyJit."""
    return LazyJit(function)
