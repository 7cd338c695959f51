"""The caches that compare many ways, bytes and lanes at once behave like plain ones."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import needs


@pytest.mark.parametrize("seed", [1, 2])
def test_caches_behave_like_plain_ones(seed: int) -> None:
    # Not through the fixture native_dir, which needs the device's library: builds with sanitizers contain only the probes.
    folder = Path(os.environ.get("ROCM_PERF_LAB_NATIVE_DIR") or Path(__file__).parents[4] / "build")
    probe = needs.built(folder / "bin" / "rpd_cache_probe")
    done = subprocess.run([probe, str(seed)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "60000 steps\n")
