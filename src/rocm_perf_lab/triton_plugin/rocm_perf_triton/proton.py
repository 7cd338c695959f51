"""Proton, Triton's profiler, with modelled times.

Sessions, scopes, hooks and output files work as usual. On a GPU, a library (`librocprofiler-sdk.so` or `libroctracer64.so`)
reports the kernels to Proton; the software device has no such library, so the launcher reports them. Sessions use Proton's
profiler for instrumented kernels, which needs no library and records nothing itself.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FROM_LIBRARIES = ("rocprofiler", "roctracer", "cupti")
_ALONE = "instrumentation"


class Recorder:
    """Adds each launch to the active sessions."""

    def __init__(self, library: Any):
        self._library = library
        self._start, self._enter_op, self._exit_op = library.start, library.enter_op, library.exit_op
        self._finalize, self._finalize_all = library.finalize, library.finalize_all
        self._operations: list[int] = []  # scopes of open operations; a launch opens one if the session has a "triton" hook
        self._files: dict[int, Path] = {}  # files that sessions write

    def install(self) -> None:
        self._library.start = self.start
        self._library.enter_op, self._library.exit_op = self.enter_op, self.exit_op
        self._library.finalize, self._library.finalize_all = self.finalize, self.finalize_all
        if hasattr(self._library, "select_profiler_from_triton_backend"):  # Proton's own function would look for the libraries
            self._library.select_profiler_from_triton_backend = lambda _backend: _FROM_LIBRARIES[0]

    def start(self, path: str, context: str, data: str, profiler: str, mode: str = "", *_of_profiler: str) -> int:
        """Raises ValueError if a mode is given for a profiler that needs a library, since only the library implements modes."""
        if profiler not in _FROM_LIBRARIES:
            return int(self._start(path, context, data, profiler, mode))
        if mode:
            raise ValueError(f"Proton's mode {mode!r} needs a GPU: on the software device there is only the default one")
        session = int(self._start(path, context, data, _ALONE, "hip"))
        self._files[session] = Path(f"{path}.hatchet")
        return session

    def finalize(self, session: int, output_format: str) -> None:
        self._finalize(session, output_format)
        _complete(self._files.pop(session, None))

    def finalize_all(self, output_format: str) -> None:
        self._finalize_all(output_format)
        while self._files:
            _complete(self._files.popitem()[1])

    def enter_op(self, scope: int, name: str) -> None:
        self._operations.append(scope)
        self._enter_op(scope, name)

    def exit_op(self, scope: int, name: str) -> None:
        if scope in self._operations:
            self._operations.remove(scope)
        self._exit_op(scope, name)

    def add(self, kernel: str, milliseconds: float) -> None:
        """Add a launch of `kernel` to the innermost open operation, or else to a new one named after the kernel."""
        scope = self._operations[-1] if self._operations else self._library.record_scope()
        if not self._operations:
            self._enter_op(scope, kernel)
        self._add_metrics(scope, {"time (ns)": round(milliseconds * 1e6), "count": 1})
        if not self._operations:
            self._exit_op(scope, kernel)

    def _add_metrics(self, scope: int, metrics: dict[str, int]) -> None:
        try:
            self._library.add_metrics(scope, metrics, {})
        except TypeError:  # in Triton 3.5 and older, there is no parameter for tensors
            self._library.add_metrics(scope, metrics)


def _complete(file: Path | None) -> None:
    """Lists the kernels' metrics at the root, where Proton's viewer looks to see which metrics to sum up."""
    if file is None or not file.is_file():  # other formats
        return
    tree = json.loads(file.read_text("utf-8"))
    tree[0]["metrics"] = {"count": 0, "time (ns)": 0} | tree[0]["metrics"]
    complete = file.with_name(f"{file.name}.complete")
    complete.write_text(json.dumps(tree, indent=4), "utf-8")
    complete.replace(file)


_recorder: Recorder | None = None


def install(module: Any) -> None:
    """Called with `triton.profiler.profile`."""
    global _recorder
    _recorder = Recorder(module.libproton)
    _recorder.install()


def add(kernel: str, milliseconds: float) -> None:
    """Reports a launch to Proton, if the program has imported it."""
    if _recorder is not None:
        _recorder.add(kernel, milliseconds)
