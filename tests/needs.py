"""What tests need of the machine, in one place: without it a test skips, or fails where `./dev test` has prepared it all."""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
ALL_IS_THERE = "ROCM_PERF_TESTS_NEED_ALL"  # set by ./dev test, so that what it lost does not pass for a skip


def lacking(what: str) -> NoReturn:
    """End the test, or the module that is being collected."""
    if os.environ.get(ALL_IS_THERE):
        pytest.fail(f"{what}, although ./dev test prepares it")
    pytest.skip(what, allow_module_level=True)


def shared(*parts: str) -> Path:
    """A path below $RPL_SHARED, else ../shared: what the product does without. Where the variable says it is, it has to be."""
    named = os.environ.get("RPL_SHARED")
    path = Path(named or REPOSITORY.parent / "shared").joinpath(*parts)
    if path.exists():
        return path
    (pytest.fail if named else pytest.skip)(f"no {path}")


def program(*names: str) -> str:
    """The path of the first of these programs that there is."""
    return next(filter(None, map(shutil.which, names))) if any(map(shutil.which, names)) else lacking(f"no {names[0]}")


def native_folder() -> Path:
    """The folder of a native build ($ROCM_PERF_LAB_NATIVE_DIR, else build/)."""
    return Path(os.environ.get("ROCM_PERF_LAB_NATIVE_DIR") or REPOSITORY / "build")


def built(path: Path) -> Path:
    """`path`, which the native build makes."""
    return path if path.exists() else lacking(f"{path} is not built")


def module(name: str) -> ModuleType:
    """The Python package, of those in the extra `dev`."""
    try:
        return importlib.import_module(name)
    except ImportError:
        lacking(f"no Python package {name}")
