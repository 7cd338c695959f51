"""The caches that compare many ways, bytes and lanes at once do the same as plain ones."""

from __future__ import annotations

import subprocess

import pytest

import needs


@pytest.mark.parametrize("seed", [1, 2])
def test_caches_do_what_plain_ones_do(native_dir, seed: int) -> None:
    probe = needs.built(native_dir / "bin" / "rpd_cache_probe")
    done = subprocess.run([probe, str(seed)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "60000 steps\n")
