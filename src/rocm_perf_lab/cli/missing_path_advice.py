"""Adds advice to errors about a missing path, which may exist on this machine without being visible in ./dev's root."""

from __future__ import annotations

import os
import re
from pathlib import Path

from rocm_perf_lab.errors import MissingInputError, RocmPerfError, UsageError

ROOT_OF_DEV = Path("/etc/rocm-perf-lab-root")
_PATH = re.compile(r"(?<![^\s'\"=(])(?:\.\./|/)[^\s'\":;,)]+")
_ADVICE = (
    "; ./dev shows the folder that it is started in, your home, /tmp and mounted disks: "
    "if the path is elsewhere on this machine, start ./dev there"
)


def advice(error: RocmPerfError) -> str:
    """Advice to append to an error's line; '' if there is none."""
    if not ROOT_OF_DEV.exists() or not isinstance(error, MissingInputError | UsageError):
        return ""
    lost = [path for path in _PATH.findall(error.problem) if not os.path.lexists(path)]
    return "" if all(map(_is_of_the_machine, lost)) else _ADVICE


def _is_of_the_machine(path: str) -> bool:
    """Whether the path is in one of the machine's folders that ./dev makes visible, all of which are mount points."""
    return any(os.path.ismount(folder) for folder in Path(os.path.abspath(path)).parents if folder != Path("/"))
