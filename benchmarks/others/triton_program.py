"""Runs one program of TritonBench-G as a script would, and writes what its tests return to a NumPy file (.npz).

    python triton_program.py PROGRAM RESULT.npz

Two runs are comparable: random numbers start from the same seed, memory that nobody wrote holds NaN, and the changes that an
autotuner's trials make to the arrays are undone. Runs in the user's Python, and imports nothing from this project.
"""

from __future__ import annotations

import os
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

_PREFIX = "result_gold"


def main() -> None:
    program, result = sys.argv[1:]
    sys.argv = [program]
    make_comparable()
    sys.path[0] = str(Path(program).parent)
    names = runpy.run_path(program, run_name="__main__")
    results = {name: value for name, value in names.items() if name.startswith(_PREFIX)}
    arrays = {location or "it": array for name, value in results.items() for location, array in arrays_of(value, name)}
    np.savez(result, **{place.replace("/", "_"): array for place, array in arrays.items()})


def make_comparable() -> None:
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    Autotuner._bench = _restoring(Autotuner._bench)
    if os.environ.get("TRITON_INTERPRET") == "1":
        import triton_interpreter

        triton_interpreter.install()


def _restoring(bench: Any) -> Any:
    @wraps(bench)
    def benched(self: Any, *arguments: Any, **named: Any) -> Any:
        tensors = [value for value in (*arguments, *named.values()) if isinstance(value, torch.Tensor)]
        storages = [tensor.untyped_storage() for tensor in tensors]  # tensors may be views whose elements overlap
        copies = [storage.clone() for storage in storages]
        try:
            return bench(self, *arguments, **named)
        finally:
            for storage, copy in zip(storages, copies, strict=True):
                storage.copy_(copy)

    return benched


def arrays_of(value: Any, location: str) -> Iterator[tuple[str, np.ndarray]]:
    """All tensors and numbers in a value (nothing else), with their places' names, which end in types that NumPy lacks."""
    if isinstance(value, torch.Tensor):
        tensor_on_cpu = value.detach().cpu()
        if _is_numpys(tensor_on_cpu.dtype):
            yield location, tensor_on_cpu.numpy()
        else:
            yield f"{location}.{str(tensor_on_cpu.dtype).removeprefix('torch.')}", tensor_on_cpu.float().numpy()
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from arrays_of(item, f"{location}.{key}")
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from arrays_of(item, f"{location}.{number}")
    elif isinstance(value, bool | int | float):
        yield location, np.asarray(value)


def _is_numpys(dtype: Any) -> bool:
    try:
        torch.empty(0, dtype=dtype).numpy()
    except TypeError:
        return False
    return True


if __name__ == "__main__":
    main()
