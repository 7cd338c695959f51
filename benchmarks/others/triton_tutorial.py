"""Runs one of Triton's tutorials as a script would, or one test of it, without the benchmarks that follow its own checks.

What is measured with Proton is run once, instead of 10,000 times.

    python triton_tutorial.py TUTORIAL [TEST]

TEST is the test's name in pytest, without the file's name. Runs in the user's Python, and imports nothing from this project.
"""

from __future__ import annotations

import inspect
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
import triton.profiler
import triton.testing


def main() -> None:
    tutorial, *tests = sys.argv[1:]
    triton.testing.Mark.run = lambda *_arguments, **_named: print("its benchmark is left out")
    triton.profiler.start = _measuring_once(triton.profiler.start)
    if tests:
        sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", f"{tutorial}::{tests[0]}"]))
    sys.argv = [tutorial]
    sys.path[0] = str(Path(tutorial).parent)
    runpy.run_path(tutorial, run_name="__main__")


def _measuring_once(start: Any) -> Any:
    def call(*arguments: Any, **named: Any) -> Any:
        measure = sys._getframe(1).f_globals["bench"]
        defaults = inspect.signature(measure).parameters
        measure.__defaults__ = tuple(
            {"reps": 1, "warmup_reps": 0}.get(default.name, default.default)
            for default in defaults.values()
            if default.default is not default.empty
        )
        print("what it measures with Proton is run once")
        return start(*arguments, **named)

    return call


if __name__ == "__main__":
    main()
