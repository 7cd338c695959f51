"""Help must appear at once: nothing heavy is imported until a command needs it."""

import subprocess
import sys

import pytest

HEAVY = {"numpy", "pyarrow", "pydantic", "rich", "sqlite3", "hypothesis"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["profile", "--help"], ["profile", "./missing"]])
def test_commands_that_need_no_analysis_import_nothing_heavy(arguments, tmp_path):
    report = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "rocm_perf_lab", *arguments], capture_output=True, text=True, cwd=tmp_path
    ).stderr
    imported = {line.split("|")[-1].strip().split(".")[0] for line in report.splitlines() if line.startswith("import time:")}
    assert "click" in imported
    assert not imported & HEAVY
