"""What the benchmarks of Triton programs share."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rocm-perf-lab" / "benchmarks"
ON_DEVICE = ("rocm-perf", "run", "--device", "gfx942", "--device-option", "observe=none", "--")


def triton_version(python: str) -> str:
    words = [python, "-c", "from importlib.metadata import version; print(version('triton'))"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def last_error(output: str) -> str:
    """The last line that names an exception, cut to 160 characters; empty if there is none."""
    lines = [line.strip() for line in output.splitlines() if re.match(r"(E\s+|\s*)[\w.]*(Error|Exception|Interrupt)\b", line)]
    return lines[-1][:160] if lines else ""
