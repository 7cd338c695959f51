"""A run in a folder of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from model_run import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    if shutil.which("hipcc") is None:
        pytest.skip("no hipcc")
    return Run(tmp_path)
