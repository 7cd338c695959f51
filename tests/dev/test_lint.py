"""Style, types and layers of all code, by the tools and settings of pyproject.toml and .clang-format."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def tool(*arguments: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "src")}
    done = subprocess.run([sys.executable, *arguments], cwd=REPOSITORY, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [("check",), ("format", "--check")], ids=["check", "format"])
def test_ruff(arguments: tuple[str, ...]) -> None:
    tool("-m", "ruff", *arguments, "src", "tests", "benchmarks")


def test_mypy() -> None:
    tool("-m", "mypy", "--no-error-summary")


def test_imports_follow_the_layers() -> None:
    tool("-c", "from importlinter.cli import lint_imports_command; lint_imports_command()", "--no-cache")


def test_clang_format() -> None:
    files = [path for folder in ("native", "tests") for path in (REPOSITORY / folder).rglob("*")]
    sources = [path for path in files if path.suffix in (".h", ".cpp")]
    assert len(sources) > 300
    done = subprocess.run(["clang-format", "--dry-run", "--Werror", *sources], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
