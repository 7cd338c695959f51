"""For each compiled kernel, writes what only Triton knows about it to a file for rocm-perf, in a folder given by an
environment variable.
"""

from __future__ import annotations

import json
import os
import tempfile
from functools import wraps
from pathlib import Path
from typing import Any

FOLDER_VARIABLE = "ROCM_PERF_TRITON_KERNELS"
_OPTIONS = ("num_warps", "num_stages", "waves_per_eu", "matrix_instr_nonkdim", "kpack")


def install(compiled_kernel: Any, version: str) -> None:
    """compiled_kernel: Triton's class, which Triton also instantiates for kernels found in its cache."""
    if (folder := os.environ.get(FOLDER_VARIABLE)) is not None:
        compiled_kernel.__init__ = _with_description(compiled_kernel.__init__, Path(folder), version)


def _with_description(initialize: Any, folder: Path, version: str) -> Any:
    @wraps(initialize)
    def init(self: Any, *arguments: Any, **named: Any) -> None:
        initialize(self, *arguments, **named)
        if hasattr(self.src, "fn"):  # code compiled from an intermediate representation has no Python function
            _write(described(self, version), folder)

    return init


def described(kernel: Any, version: str) -> dict[str, Any]:
    """As rocm_perf_lab/analysis/triton/kernel_descriptions.py reads it."""
    function = kernel.src.fn.fn
    return {
        "symbol": kernel.metadata.name,
        "function": function.__name__,
        "file": function.__code__.co_filename,
        "line": function.__code__.co_firstlineno,
        "version": version,
        "constants": _constants(kernel.src),
        "options": {name: getattr(kernel.metadata, name, None) for name in _OPTIONS},
        "ttgir": kernel.asm["ttgir"],
        "amdgcn": kernel.asm["amdgcn"],
    }


def _constants(source: Any) -> dict[str, str]:
    """The value of each constant, as text. Arguments that are constants only because a launch passed 1 or None are omitted."""
    names, constexprs = source.fn.arg_names, {parameter.name for parameter in source.fn.params if parameter.is_constexpr}
    constants = {_name(key, names): value for key, value in source.constants.items()}
    return {name: str(getattr(value, "value", value)) for name, value in constants.items() if name in constexprs}


def _name(key: Any, names: list[str]) -> str:
    """The name of the parameter that a constant belongs to. `key` is that name, or a path that begins with its index."""
    return names[key[0]] if isinstance(key, tuple) else str(key)


def _write(description: dict[str, Any], folder: Path) -> None:
    """Write the file either completely or not at all, since other processes of the program also write to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=".")
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(description, stream)
    os.rename(name, os.path.join(folder, f"{os.path.basename(name)[1:]}.json"))
