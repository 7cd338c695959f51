"""Adds to Triton's interpreter what only the compiler supports, so that more programs can be compared.

Runs in the user's Python, together with triton_program.py, and imports nothing from this project.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import wraps
from typing import Any

import numpy as np
from triton import language as tl
from triton.language.extra import libdevice
from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import InterpreterError
from triton.runtime.interpreter import GridExecutor, InterpreterBuilder


def install() -> None:
    GridExecutor.__init__ = _knowing_constants(GridExecutor.__init__)
    GridExecutor.__call__ = _with_tuple_as_grid(GridExecutor.__call__)
    Autotuner._bench = _dropping_refused(Autotuner._bench)
    GridExecutor._init_args_hst = _noting_extents(GridExecutor._init_args_hst)
    for name, mask_index in (("create_masked_load", 1), ("create_masked_store", 2)):
        setattr(InterpreterBuilder, name, _within_arrays(getattr(InterpreterBuilder, name), mask_index))
    # The interpreter knows only the names of CUDA's and AMD's mathematical functions: when called, these return None.
    libdevice.rsqrt = lambda x: tl.math.rsqrt(x)
    libdevice.tanh = lambda x: 2 * tl.sigmoid(2 * x) - 1


def _knowing_constants(make: Any) -> Any:
    """Also recognise constants whose annotations are strings."""

    @wraps(make)
    def made(self: Any, function: Any, *arguments: Any, **named: Any) -> None:
        make(self, function, *arguments, **named)
        annotations = getattr(function, "__annotations__", {})
        self.constexprs = list({*self.constexprs, *(name for name, kind in annotations.items() if "constexpr" in str(kind))})

    return made


def _with_tuple_as_grid(execute: Any) -> Any:
    """Also accept grids that are lists, or functions that return lists."""

    @wraps(execute)
    def executed(self: Any, *arguments: Any, **named: Any) -> Any:
        grid = self.grid
        self.grid = (lambda meta_parameters: tuple(grid(meta_parameters))) if callable(grid) else tuple(grid)
        return execute(self, *arguments, **named)

    return executed


def _dropping_refused(bench: Any) -> Any:
    """Treat a configuration that the kernel's static assertions refuse as the slowest one, not as an error."""

    @wraps(bench)
    def benched(self: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return bench(self, *arguments, **named)
        except InterpreterError as error:
            if not isinstance(error.__cause__, AssertionError):
                raise
            return [float("inf")] * 3

    return benched


_extents = np.empty((0, 2), np.uint64)  # for each array of the launch: its first address, and the address past its end


def _noting_extents(copied: Any) -> Any:
    """Note the extents of a launch's arrays. copied: the function that copies the arrays for the kernel."""

    @wraps(copied)
    def noting(self: Any, *arguments: Any) -> Any:
        global _extents
        positional, named = copied(self, *arguments)
        storages = [tensor.untyped_storage() for tensor in _tensors((*positional, *named.values()))]
        extents = sorted((one.data_ptr(), one.data_ptr() + one.nbytes()) for one in storages)
        _extents = np.array(extents, np.uint64).reshape(-1, 2)
        return positional, named

    return noting


def _tensors(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from _tensors(value)
        elif hasattr(value := getattr(value, "base", value), "untyped_storage"):  # a descriptor's tensor
            yield value


def _within_arrays(access: Any, mask_index: int) -> Any:
    """Make an access outside the arrays an error: it could read anything, or crash the process. place: the mask's position.

    Comparisons of scalars produce masks that are integers. The interpreter does not accept these, so they become booleans.
    """

    @wraps(access)
    def accessed(self: Any, pointers: Any, *other_arguments: Any) -> Any:
        mask = other_arguments[mask_index - 1]
        mask.data = np.asarray(mask.data).astype(bool)
        _expect_within_arrays(np.asarray(pointers.data)[mask.data])
        return access(self, pointers, *other_arguments)

    return accessed


def _expect_within_arrays(addresses: np.ndarray) -> None:
    before = np.searchsorted(_extents[:, 0], addresses, "right") - 1
    if np.any(before < 0) or np.any(addresses >= _extents[before, 1]):
        raise IndexError("an address outside of the launch's arrays")
