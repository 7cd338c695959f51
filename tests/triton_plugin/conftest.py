"""Triton from the package index, for the slow tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session", params=["3.5.1", "3.9.0"])
def python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with this Triton."""
    environment = tmp_path_factory.mktemp("triton")
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    wanted = ("numpy", f"triton=={request.param}")
    installed = subprocess.run([environment / "bin" / "pip", "install", "-q", *wanted], capture_output=True, text=True)
    assert installed.returncode == 0, installed.stderr
    return environment / "bin" / "python"
