"""Where the root is, and whether this process should enter it."""

from __future__ import annotations

import os
from pathlib import Path

from rocm_perf_lab import rocm

SCRIPTS = Path(__file__).resolve().parents[1] / "env"
"""The scripts that make and enter the root. In a clone they are elsewhere, so this folder does not exist."""
_INSIDE = Path("/etc/rocm-perf-lab-root")


def cache() -> Path:
    """The folder that contains the root. ./dev uses the same folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").resolve() / "rocm-perf-lab"


def script() -> Path:
    """The copy of packaged.sh that setup runs, since the root's own folders may hide the path of the installed one."""
    return cache() / "package" / "env" / "packaged.sh"


def is_inside() -> bool:
    """Whether this process is running inside such a root."""
    return _INSIDE.is_file()


def is_ready() -> bool:
    """Whether `rocm-perf setup` has finished."""
    return (cache() / "venv" / "package" / ".installed").is_file() and script().is_file()


def machine_can_run() -> bool:
    """Whether this machine's own ROCm can run GPU programs, on a GPU or on the software device."""
    runtime = rocm.find_library(rocm.RUNTIME)
    return runtime is not None and (os.path.exists("/dev/kfd") or rocm.has_model_interface(runtime))


def entering(folder: Path, command: list[str]) -> list[str]:
    """The command line that runs a command in the root."""
    return [str(script()), "run", str(folder), *command]
