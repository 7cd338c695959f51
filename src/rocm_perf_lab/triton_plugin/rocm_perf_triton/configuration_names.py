"""Names the kernels of an autotuned function after their configurations, so that reports can tell them apart.

The name contains only the values that differ between the configurations. It is the kernel's name in the compiled code, so
traces, captures and patterns all use it. Functions that name their kernels themselves (`triton.jit(repr=...)`) keep those
names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

_CACHE_VARIABLE = "TRITON_CACHE_DIR"

_launched: Mapping[str, Any] = {}  # named arguments of the launch for which code is being compiled


def name(function: str, configurations: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any]) -> str:
    """The kernel's name, which Triton requires to be an identifier: "matmul__BLOCK_M_64__num_warps_4".

    configurations: all configurations of the function. chosen: one of them, possibly with further arguments.
    """
    differing = [
        key for key in configurations[0] if len({repr(configuration.get(key)) for configuration in configurations}) > 1
    ]
    parts = [f"{key}_{chosen[key]}" for key in differing if key in chosen]
    return "__".join([function, *(re.sub(r"\W", "_", part) for part in parts)])


def install(autotuner: Any, jit_function: Any) -> None:
    """autotuner, jit_function: Triton's classes."""
    autotuner.__init__ = _naming(autotuner.__init__, jit_function)
    jit_function.run = _remembering(jit_function.run)
    _use_own_cache()


def _naming(initialize: Any, jit_function: Any) -> Any:
    @wraps(initialize)
    def init(self: Any, *arguments: Any, **named: Any) -> None:
        initialize(self, *arguments, **named)
        function = self.fn
        while not isinstance(function, jit_function) and hasattr(function, "fn"):
            function = function.fn
        if isinstance(function, jit_function) and function._repr is None:
            configurations = [configuration.all_kwargs() for configuration in self.configs]
            function._repr = lambda _specialization: name(function._fn_name, configurations, _launched)

    return init


def _remembering(run: Any) -> Any:
    @wraps(run)
    def remembering(self: Any, *arguments: Any, **named: Any) -> Any:
        global _launched
        before, _launched = _launched, named
        try:
            return run(self, *arguments, **named)
        finally:
            _launched = before

    return remembering


def _use_own_cache() -> None:
    """Use a separate cache: Triton's cache does not distinguish kernels by name, and programs that run on a GPU use the
    default cache.
    """
    home = Path(os.environ.get("TRITON_HOME") or Path.home())
    os.environ.setdefault(_CACHE_VARIABLE, str(home / ".triton" / "rocm-perf-cache"))
