"""Builds packages from a folder with the sources."""

import os
import subprocess
import sys
from pathlib import Path


def build(repository: Path, folder: Path, kind: str = "wheel", **environment: str) -> Path:
    """Builds an sdist or a wheel from the clone with the packages installed here, and returns it."""
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", folder, repository],
        env={**os.environ, "ROCM_PERF_LAB_NATIVE": "off", **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (package,) = folder.iterdir()
    return package
