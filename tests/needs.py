"""What tests need from the machine, in one place: without it, a test is skipped, or fails where `./dev test` prepared it."""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
ALL_IS_THERE = "ROCM_PERF_TESTS_NEED_ALL"  # set by ./dev test, so that a missing requirement is not hidden by a skip


def lacking(what: str) -> NoReturn:
    """Ends the test, or the collection of the module."""
    if os.environ.get(ALL_IS_THERE):
        pytest.fail(f"{what}, although ./dev test prepares it")
    pytest.skip(what, allow_module_level=True)


def shared(*parts: str) -> Path:
    """A path below $RPL_SHARED, else ../shared, which the product itself does not need. If the variable is set, it must
    exist."""
    named = os.environ.get("RPL_SHARED")
    path = Path(named or REPOSITORY.parent / "shared").joinpath(*parts)
    if path.exists():
        return path
    (pytest.fail if named else pytest.skip)(f"no {path}")


def program(*names: str) -> str:
    """The path of the first of these programs that exists."""
    return next(filter(None, map(shutil.which, names))) if any(map(shutil.which, names)) else lacking(f"no {names[0]}")


def native_folder() -> Path:
    """The folder of a native build ($ROCM_PERF_LAB_NATIVE_DIR, else build/)."""
    return Path(os.environ.get("ROCM_PERF_LAB_NATIVE_DIR") or REPOSITORY / "build")


def built(path: Path) -> Path:
    """`path`, which the native build makes."""
    return path if path.exists() else lacking(f"{path} is not built")


def module(name: str) -> ModuleType:
    """A Python package from the extra `dev`."""
    try:
        return importlib.import_module(name)
    except ImportError:
        lacking(f"no Python package {name}")
