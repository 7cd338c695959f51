"""The examples of the page on Python, executed one after the other, as by a user who has a compiled program."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "python.md"
SAID = r"""<Run of \S*softmax_testbed --rows 64 --cols 64, modelled, softmax_naive\(.*\) has \d+% of the critical path>
softmax_naive\(float const\*, float\*, int, int\) [\d.]+ [\d.]+ [\w-]+ [\d.]+
7
"""


def test_the_examples_work_in_order(testbed, tmp_path):
    shutil.copy(testbed("softmax_testbed"), tmp_path)
    (tmp_path / "rocm-perf").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rocm_perf_lab "$@"\n')
    (tmp_path / "rocm-perf").chmod(0o755)
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE.read_text("utf-8"))
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "MPLBACKEND": "agg"}
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    assert re.match(SAID, ran.stdout), ran.stdout
    assert "What to try next" in ran.stdout and re.search(r"(?m)^False \['kernel_time', 'span'\]$", ran.stdout)
    assert re.search(r"True [\d.e-]+$", ran.stdout.strip())
