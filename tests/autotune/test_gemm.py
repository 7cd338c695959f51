"""The testbed's GEMM, built and tuned over its tile sizes on the software MI300X, against a full sweep."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_tuning_resumes_and_finds_what_a_full_sweep_finds(rocm_perf, native_dir, repository, tmp_path, hipcc):
    shutil.copy(repository / "testbed" / "tiles.json", tmp_path / "space.json")
    source = repository / "testbed" / "gemm.hip"
    common = [
        "autotune", "--space", "space.json", "--device", "gfx942", "--json", "--check", "grep -q PASS",
        "--build-template", f"hipcc -O3 --offload-arch=gfx942 {{defines}} {source} -o {{output}}",
        "--cmd-template", "{output} --kernel tiled -n {n}",
    ]  # fmt: skip
    tune = [*common, "--budget", "36"]

    first = subprocess.Popen([sys.executable, "-m", "rocm_perf_lab", *tune], cwd=tmp_path, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)  # fmt: skip
    for line in first.stderr:
        if line.startswith("rocm-perf: 5 of"):
            break
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()

    done = rocm_perf(*tune, "--profile", "best.rocm-perf", "--write-report", "page.html", timeout=3600)
    assert done.returncode == 0, done.stderr
    tuned = json.loads(done.stdout)
    assert tuned["reused"] >= 5 and tuned["evaluated"] == 36 and tuned["failed"] == 0
    assert tuned["best"]["modelled"] and tuned["profile"]["timing"] == "modelled"
    assert "Time (modelled)" in (tmp_path / "page.html").read_text()
    assert (tmp_path / "best.rocm-perf" / "analysis.json").exists()

    swept = json.loads(rocm_perf(*common, "--strategy", "random", timeout=3600).stdout)
    assert swept["reused"] == 36 and swept["evaluated"] == swept["total"]
    assert swept["total"] + swept["unlaunchable"] == 54 and swept["failed"] == 0
    assert tuned["best"]["ms"] <= 1.02 * swept["best"]["ms"]
    print(f"\ntuned: {tuned['best']['ms']} ms after 36 of {swept['total']}; best of all: {swept['best']['ms']} ms (modelled)")
