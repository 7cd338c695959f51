"""Writes a script for measuring, on a GPU, the changes that a run left undecided."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rocm_perf_lab.optimize.backend import BackendOptions
from rocm_perf_lab.optimize.result import Undecided
from rocm_perf_lab.optimize.source_file import write_whole

FILE = "measure-undecided.sh"
_HEAD = """\
#!/bin/sh
# Measures, on a GPU, the changes on which the timing model could not decide, each against the source as it is. A change that
# builds on accepted changes to a different kernel is refused until those are in the source.
"""


def write_script(
    folder: Path,
    source: Path,
    program: Sequence[str],
    build: str | None,
    options: BackendOptions,
    undecided: Sequence[Undecided],
) -> Path | None:
    """Write the script into the run's folder and return its path; None if nothing is left to decide. program: the program
    and its arguments. Raises OutputError.
    """
    if not undecided:
        return None
    given = ["--build", build] if build is not None else []
    given += ["--ulps", str(options.ulps)] if options.ulps else []
    given += ["--check", shlex.join(options.check)] if options.check else []
    given += [word for words in options.also for word in ("--also", shlex.join(words))]
    lines = [f"cd {shlex.quote(str(Path.cwd()))} || exit"]
    for one in undecided:
        told = f"{one.judged.proposal.description} in {one.kernel}".replace("\n", " ")
        words = ["rocm-perf", "gate", *given, str(source), str(one.file), *program]
        lines += [f"echo {shlex.quote(told)}", shlex.join(words)]
    path = folder / FILE
    write_whole(path, (_HEAD + "\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
    path.chmod(0o755)
    return path
