"""Default names for run directories; runs of different programs get different names."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from pathlib import Path

from rocm_perf_lab.collect.command import Command
from rocm_perf_lab.run_directory import TRACE_FOLDER

SUFFIX = ".rocm-perf"
_ANALYSIS = ".analysis"
_DIGITS = 8
_PYTHON = re.compile(r"python[0-9.]*t?")  # often started with a path, as in a virtual environment


def of_command(command: Command) -> Path:
    """./<program>.rocm-perf. A program on PATH, such as sh, or any Python interpreter usually runs another file if it has
    arguments; the directory is then named after that file. If no argument is a file, a digest of the command is appended.
    """
    name = Path(command.program).name
    if len(command.argv) == 1 or (os.sep in command.program and not _PYTHON.fullmatch(name)):
        return Path(name + SUFFIX)
    script = next((word for word in command.argv[1:] if not word.startswith("-") and os.path.isfile(word)), None)
    if script is not None:
        return Path(Path(script).name + SUFFIX)
    digest = hashlib.sha256(os.fsencode(shlex.join(command.argv))).hexdigest()[:_DIGITS]
    return Path(f"{name}-{digest}{SUFFIX}")


def of_trace(database: Path) -> Path:
    """./<trace>.rocm-perf; for a database in a run directory, ./<its name>.analysis.rocm-perf."""
    folder = database.absolute().parent
    if folder.name == TRACE_FOLDER:
        return Path(folder.parent.name.removesuffix(SUFFIX) + _ANALYSIS + SUFFIX)
    return Path(database.stem.removesuffix("_results") + SUFFIX)


def replaced(destination: Path, command: Command) -> str | None:
    """The command of the run at `destination`, if it started the same program elsewhere or with different arguments; otherwise
    None. If one program starts another, the trace names only the first.
    """
    try:
        earlier = json.loads((destination / "profile.json").read_text())["run"]["command"]
        same_name = Path(earlier.split()[0]).name == Path(command.program).name
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return earlier if same_name and earlier not in (shlex.join(command.argv), " ".join(command.argv)) else None
