"""Captures of testbed programs on the software device, each made once a session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocm_perf_lab.isolate import Capture, capture


@pytest.fixture(scope="session")
def captured(testbed, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Capture]:
    """captured("vcopy", "vecCopy", 1, "-n", "1000"): dispatch 1 of vecCopy in that program with these arguments."""
    made: dict[tuple, Capture] = {}

    def make(program: str | Path, kernel: str, dispatch: int = 0, *arguments: str, **options) -> Capture:
        key = (program, kernel, dispatch, arguments, tuple(sorted(options.items())))
        if key not in made:
            binary = testbed(program) if isinstance(program, str) else program
            folder = tmp_path_factory.mktemp("capture")
            made[key] = capture([str(binary), *arguments], kernel, dispatch, folder, device="gfx942", **options)
        return made[key]

    return make
