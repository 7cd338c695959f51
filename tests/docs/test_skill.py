"""The skill for agents: its header is what agent hosts require, and its commands work as described, one after the other."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SKILL = Path(__file__).resolve().parents[2] / "skill" / "rocm-perf" / "SKILL.md"


def test_the_header_names_and_describes_the_skill():
    head = re.match(r"---\nname: ([a-z0-9-]{1,64})\ndescription: ([^\n]{1,1024})\n---\n", SKILL.read_text("utf-8"))
    assert head and head[1] == "rocm-perf" and not re.search(r"[<>]|: ", head[2])


@pytest.mark.slow
def test_the_commands_of_the_skill_work_in_order(repository, native_dir, tmp_path, hipcc):
    source = (repository / "testbed" / "softmax.hip").read_text()
    (tmp_path / "app.hip").write_text(source.replace('"--rows", 1024', '"--rows", 64').replace('"--cols", 512', '"--cols", 64'))
    shutil.copy(repository / "testbed" / "check.h", tmp_path)
    commands = [
        line for block in re.findall(r"(?ms)^```sh\n(.*?)^```", SKILL.read_text("utf-8")) for line in block.splitlines()
    ]
    assert {line.split()[1] for line in commands if line.startswith("rocm-perf")} > {"profile", "prompt", "gate", "replay"}
    ours = tmp_path / "bin"
    ours.mkdir()
    (ours / "rocm-perf").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rocm_perf_lab "$@"\n')
    (ours / "rocm-perf").chmod(0o755)
    environment = os.environ | {"PATH": f"{ours}:{os.environ['PATH']}"}
    for line in commands:
        ran = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
        # The candidate of the example is the source itself, which changes nothing: that is a rejection.
        assert ran.returncode == (45 if " gate " in line else 0), f"{line}\n{ran.stderr}"
    assert json.loads((tmp_path / "profile.out").read_text())["dag"]["dominant_symbol"].startswith("softmax_naive(")
