"""Style and types of all Python code, by the tools and settings of pyproject.toml."""

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
