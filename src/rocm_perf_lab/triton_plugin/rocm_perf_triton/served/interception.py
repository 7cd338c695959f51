"""Redirects launches of one function to another function."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from rocm_perf_triton.served.launch import ServedLaunch, jit_function

Served = Callable[[ServedLaunch], Any]


class Interception:
    """Calls served(launch) instead of launching functions named `kernel`. Launches made by served(), and calls that only
    compile, are not intercepted.
    """

    def __init__(self, kernel: str, served: Served):
        self._kernel, self._served, self._is_serving = kernel, served, False

    def install(self) -> None:
        from triton.runtime.autotuner import Autotuner
        from triton.runtime.jit import JITFunction

        Autotuner.run = self._intercepted(Autotuner.run)
        JITFunction.run = self._intercepted(JITFunction.run)

    def _intercepted(self, run: Any) -> Any:
        @wraps(run)
        def intercepted(function: Any, *arguments: Any, **named: Any) -> Any:
            is_other = self._is_serving or named.get("warmup") or jit_function(function).fn.__name__ != self._kernel
            if is_other:
                return run(function, *arguments, **named)
            self._is_serving = True
            try:
                return self._served(ServedLaunch(function, arguments, named))
            finally:
                self._is_serving = False

        return intercepted
