"""Runs one program of TritonBench-G as a script would, and writes what its tests return to a file of NumPy's (.npz).

    python triton_program.py PROGRAM RESULT.npz

Two runs are comparable: random numbers begin at the same seed, memory that nobody wrote holds NaN, and what an autotuner's
trials leave in the arrays is taken back. For the user's Python: imports nothing of this project.
"""

from __future__ import annotations

import random
import runpy
import sys
from collections.abc import Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import torch
from triton.runtime.autotuner import Autotuner
from triton.runtime.interpreter import GridExecutor

_PREFIX = "result_gold"


def main() -> None:
    program, result = sys.argv[1:]
    sys.argv = [program]
    sys.path[0] = str(Path(program).parent)
    make_comparable()
    names = runpy.run_path(program, run_name="__main__")
    found = {name: value for name, value in names.items() if name.startswith(_PREFIX)}
    arrays = {place or "it": array for name, value in found.items() for place, array in arrays_of(value, name)}
    np.savez(result, **{place.replace("/", "_"): array for place, array in arrays.items()})


def make_comparable() -> None:
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    Autotuner._bench = _restoring(Autotuner._bench)
    GridExecutor.__init__ = _knowing_constants(GridExecutor.__init__)


def _knowing_constants(make: Any) -> Any:
    """The interpreter does not know annotations that are strings, which the compiler does."""

    @wraps(make)
    def made(self: Any, function: Any, *arguments: Any, **named: Any) -> None:
        make(self, function, *arguments, **named)
        annotations = getattr(function, "__annotations__", {})
        self.constexprs = list({*self.constexprs, *(name for name, kind in annotations.items() if "constexpr" in str(kind))})

    return made


def _restoring(bench: Any) -> Any:
    @wraps(bench)
    def benched(self: Any, *arguments: Any, **named: Any) -> Any:
        tensors = [value for value in (*arguments, *named.values()) if isinstance(value, torch.Tensor)]
        copies = [tensor.detach().clone() for tensor in tensors]
        try:
            return bench(self, *arguments, **named)
        finally:
            with torch.no_grad():
                for tensor, copy in zip(tensors, copies, strict=True):
                    tensor.copy_(copy)

    return benched


def arrays_of(value: Any, place: str) -> Iterator[tuple[str, np.ndarray]]:
    """All tensors and numbers in it, by their places. What is neither is left out."""
    if isinstance(value, torch.Tensor):
        plain = value.detach().cpu()
        yield place, (plain if _is_numpys(plain.dtype) else plain.float()).numpy()
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from arrays_of(item, f"{place}.{key}")
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from arrays_of(item, f"{place}.{number}")
    elif isinstance(value, bool | int | float):
        yield place, np.asarray(value)


def _is_numpys(dtype: Any) -> bool:
    try:
        torch.empty(0, dtype=dtype).numpy()
    except TypeError:
        return False
    return True


if __name__ == "__main__":
    main()
