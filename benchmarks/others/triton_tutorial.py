"""Runs one of Triton's tutorials as a script would, or one test of it, without the benchmarks that follow its own checks.

    python triton_tutorial.py TUTORIAL [TEST]

TEST is as pytest names it after the file's name. For the user's Python: imports nothing of this project.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import NoReturn

import pytest
import triton.profiler
import triton.testing


def main() -> None:
    tutorial, *tests = sys.argv[1:]
    triton.testing.Mark.run = lambda *_arguments, **_named: print("its benchmark is left out")
    triton.profiler.start = _left_out
    if tests:
        sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", f"{tutorial}::{tests[0]}"]))
    sys.argv = [tutorial]
    sys.path[0] = str(Path(tutorial).parent)
    runpy.run_path(tutorial, run_name="__main__")


def _left_out(*_arguments: object, **_named: object) -> NoReturn:
    print("what it measures with Proton is left out")
    sys.exit(0)


if __name__ == "__main__":
    main()
