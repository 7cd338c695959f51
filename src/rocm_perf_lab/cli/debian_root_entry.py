"""On a machine without ROCm, runs the commands that need it in the root made by `rocm-perf setup`, if there is one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

_NEED_ROCM = {
    "profile", "run", "isolate", "replay", "optimize", "prompt", "gate", "llm-optimize", "autotune", "ci", "mcp", "doctor",
    "ceilings",
}  # fmt: skip
_NEED_NOTHING = {"-h", "--help", "--simulate"}


def enter_if_needed(arguments: Sequence[str]) -> None:
    """Replace this process with the same command in the root; return if the command should run here."""
    if not arguments or arguments[0] not in _NEED_ROCM or _NEED_NOTHING & set(arguments):
        return
    from rocm_perf_lab.debian_root import paths

    if paths.SCRIPTS.is_dir() and not paths.is_inside() and paths.is_ready() and not paths.machine_can_run():
        line = paths.entering(Path.cwd(), ["rocm-perf", *arguments])
        os.execv(line[0], line)
