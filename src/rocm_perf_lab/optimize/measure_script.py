"""Writes a script for measuring, on a GPU, the changes that a run left undecided."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rocm_perf_lab.optimize.backend import BackendOptions
from rocm_perf_lab.optimize.result import UndecidedCandidate
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
    undecided: Sequence[UndecidedCandidate],
) -> Path | None:
    """Write the script into the run's folder and return its path; None if nothing is left to decide. program: the program
    and its arguments. Raises OutputError.
    """
    if not undecided:
        return None
    gate_options = ["--build", build] if build is not None else []
    gate_options += ["--ulps", str(options.ulps)] if options.ulps else []
    gate_options += ["--check", shlex.join(options.check)] if options.check else []
    gate_options += [word for words in options.also for word in ("--also", shlex.join(words))]
    lines = [f"cd {shlex.quote(str(Path.cwd()))} || exit"]
    for candidate in undecided:
        announcement = f"{candidate.judged.proposal.description} in {candidate.kernel}".replace("\n", " ")
        words = ["rocm-perf", "gate", *gate_options, str(source), str(candidate.file), *program]
        lines += [f"echo {shlex.quote(announcement)}", shlex.join(words)]
    path = folder / FILE
    write_whole(path, (_HEAD + "\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
    path.chmod(0o755)
    return path
