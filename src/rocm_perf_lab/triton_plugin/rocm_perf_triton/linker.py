"""LLVM's linker, which Triton 3.4 looks for in few places; later versions bring one."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

_VARIABLE = "TRITON_HIP_LLD_PATH"


def name_one() -> None:
    """Name a linker to Triton, unless the user has done so."""
    if _VARIABLE not in os.environ and (found := _find()) is not None:
        os.environ[_VARIABLE] = found


def _find() -> str | None:
    installed = [str(path) for path in Path("/usr/lib").glob("llvm-*/bin/ld.lld")]
    newest_first = sorted(installed, key=lambda path: int(re.sub(r"\D", "", path) or 0), reverse=True)
    return shutil.which("ld.lld") or next(iter(newest_first), None)
