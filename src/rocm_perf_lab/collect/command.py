"""Turns the words of a command line into a program that can be executed, or reports why that is impossible."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.errors import MissingInputError, UsageError

_CUDA = (".cu", ".cuh")
_SOURCES = (".hip", ".cpp", ".cc", ".cxx", ".c", ".C", ".h", ".hpp", *_CUDA)


@dataclass(frozen=True)
class Command:
    """argv as it will be executed, the file to execute, and the program's name as the user gave it."""

    argv: tuple[str, ...]
    executable: Path
    program: str


def resolve(words: Sequence[str]) -> Command:
    """Find the program that `words` names; a single word like "./app args" is split as a shell would do, but without a shell.

    Raises UsageError if there are no words or quotes are unbalanced, or MissingInputError if the program cannot be executed.
    """
    argv = _split_single_string(words)
    if not argv or not argv[0]:
        raise UsageError("no program given", "name one, for example `rocm-perf profile ./app --its-arguments`")
    return Command(tuple(argv), _locate(argv[0]), argv[0])


def _split_single_string(words: Sequence[str]) -> list[str]:
    if len(words) != 1 or not any(map(str.isspace, words[0])) or os.path.exists(words[0]):
        return list(words)
    try:
        return shlex.split(words[0])
    except ValueError as error:
        raise UsageError(f"cannot split {words[0]!r} into words ({error})", "balance its quotes") from error


def _locate(program: str) -> Path:
    if os.sep not in program:
        return _locate_on_path(program)
    path = Path(program)
    if not path.exists():
        raise MissingInputError(f"{program} does not exist", "check the path, or build the program first")
    if not path.is_file():
        raise MissingInputError(f"{program} is {'a folder' if path.is_dir() else 'not a file'}", "name the program itself")
    if not os.access(path, os.X_OK):
        raise MissingInputError(f"{program} is not executable", _how_to_execute(program))
    return path.absolute()


def _how_to_execute(program: str) -> str:
    name, path = shlex.quote(program), Path(program)
    if path.suffix in _SOURCES:
        program = f"./{shlex.quote(path.stem)}"
        hipify = "if it is CUDA, translate it first (hipify-perl); " if path.suffix in _CUDA else ""
        return f"it is a source file: {hipify}compile it (hipcc -O3 -g {name} -o {program}) and name {program}"
    if path.suffix == ".py":
        return f"name its interpreter first: python3 {name}"
    return f"run `chmod +x {name}`"


def _locate_on_path(program: str) -> Path:
    located = shutil.which(program)
    if located:
        return Path(located).absolute()
    if os.path.isdir(program):
        raise MissingInputError(f"{program} is a folder", "name the program itself")
    if os.path.isfile(program) and not os.access(program, os.X_OK):
        raise MissingInputError(f"{program} is not executable", _how_to_execute(program))
    if os.path.exists(program):
        raise MissingInputError(f"{program} is not on PATH", f"write ./{program} for the file in this folder")
    raise MissingInputError(f"{program} was not found on PATH", "check its name, or give its path")
