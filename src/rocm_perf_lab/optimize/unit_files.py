"""The files that make up a unit, as reported by its own compiler for the device and host passes, which may include different
files.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.optimize.build_commands import OutputCommand

_SECONDS = 300
_PASSES = ("--offload-host-only", "--offload-device-only")
_SYSTEM_FOLDERS = tuple(map(Path, ("/usr", "/opt", "/lib")))


def files_of(command: OutputCommand) -> frozenset[Path]:
    """The real paths of the command's source and of all files that it includes, except system files. Raises SourceError."""
    files: set[Path] = set()
    for only in _PASSES if command.is_hip else ("",):
        files |= {(command.folder / name).resolve() for name in _list_prerequisites(command, only)}
    return frozenset(path for path in files if not any(path.is_relative_to(folder) for folder in _SYSTEM_FOLDERS))


def _list_prerequisites(command: OutputCommand, only: str) -> Sequence[str]:
    argv = [*_without_output(command.argv), *([only] if only else []), "-M", "-Wno-unused-command-line-argument"]
    try:
        done = subprocess.run(argv, cwd=command.folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SourceError(f"{command.argv[0]} does not run: {error}", "name the compiler with --build") from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").splitlines()
        complaint = next((line for line in lines if "error:" in line), (lines or ["no reason given"])[-1])
        raise SourceError(f"{command.sources[0]} does not compile: {complaint}", "correct what the compiler names")
    return _parse_prerequisites(done.stdout.decode(errors="replace"))


def _without_output(argv: Sequence[str]) -> list[str]:
    words, remaining = [], iter(argv)
    for word in remaining:
        if word == "-o":
            next(remaining, None)
        elif word != "-c" and not word.endswith((".o", ".a", ".so")):
            words.append(word)
    return words


def _parse_prerequisites(rules: str) -> list[str]:
    """The names after the colons in make's rules; spaces in names are escaped with a backslash."""
    prerequisites: list[str] = []
    for rule in rules.replace("\\\n", " ").splitlines():
        _, _, names = rule.partition(": ")
        prerequisites += [re.sub(r"\\(.)", r"\1", name).replace("$$", "$") for name in re.findall(r"(?:\\.|[^\s\\])+", names)]
    return prerequisites
