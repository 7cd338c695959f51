"""Style and types of all code, by the tools and settings of pyproject.toml and .clang-format."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def tool(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [("check",), ("format", "--check")], ids=["check", "format"])
def test_ruff(arguments: tuple[str, ...]) -> None:
    tool("ruff", *arguments, "src", "tests", "benchmarks")


def test_mypy() -> None:
    tool("mypy", "--no-error-summary")


def test_clang_format() -> None:
    files = [path for folder in ("native", "tests") for path in (REPOSITORY / folder).rglob("*")]
    sources = [path for path in files if path.suffix in (".h", ".cpp")]
    assert len(sources) > 300
    done = subprocess.run(["clang-format", "--dry-run", "--Werror", *sources], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
