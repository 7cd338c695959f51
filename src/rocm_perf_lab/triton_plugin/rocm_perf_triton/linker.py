"""Finds LLVM's linker, which Triton 3.4 looks for in only a few places; later versions come with one."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

_VARIABLE = "TRITON_HIP_LLD_PATH"


def name_one() -> None:
    """Tell Triton where a linker is, unless the user has already done so."""
    if _VARIABLE not in os.environ and (linker := _find()) is not None:
        os.environ[_VARIABLE] = linker


def _find() -> str | None:
    installed = [str(path) for path in Path("/usr/lib").glob("llvm-*/bin/ld.lld")]
    newest_first = sorted(installed, key=lambda path: int(re.sub(r"\D", "", path) or 0), reverse=True)
    return shutil.which("ld.lld") or next(iter(newest_first), None)
