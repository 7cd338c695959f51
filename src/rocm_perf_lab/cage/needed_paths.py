"""What a command must see to run: this project's own parts, the command's installation, and the files its arguments name."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import rocm_perf_lab
from rocm_perf_lab import native, rocm

_PARTS_OF_INSTALLATIONS = ("bin", "lib", "lib64", "libexec", "include", "llvm", "amdgcn", "hip", "share/hip", "share/rocm")
_JOINED_OPTIONS = ("-isystem", "-iquote", "-include", "-I", "-L", "-B", "-F", "@")


def needed_by(command: Sequence[str], folder: Path) -> list[Path]:
    """The existing files and folders that the command needs. folder: where the command runs."""
    paths = [*_own_paths(), *_rocm_paths(), *installation(command[0], folder), *_paths_named_by(command, folder)]
    return [path for path in dict.fromkeys(paths) if path.exists()]


def _own_paths() -> Iterator[Path]:
    yield from map(Path, (sys.executable, sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix))
    yield Path(os.path.realpath(sys.executable))
    yield Path(rocm_perf_lab.__file__).parent
    yield from native.search_folders()


def _rocm_paths() -> Iterator[Path]:
    yield rocm.root()
    yield from (Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if os.path.isabs(folder))


def installation(program: str, folder: Path) -> Iterator[Path]:
    """The program, its folder and, if that folder is a bin/, the other folders of the same installation."""
    executable = shutil.which(os.path.join(folder, program) if os.sep in program else program)
    for path in dict.fromkeys((executable, os.path.realpath(executable))) if executable else ():
        beside = Path(path).parent
        yield from (Path(path), beside)  # the program itself, in case its folder is hidden
        if beside.name == "bin":
            yield from (beside.parent / part for part in _PARTS_OF_INSTALLATIONS)


def _paths_named_by(command: Sequence[str], folder: Path) -> Iterator[Path]:
    for word in command[1:]:
        for name in _names_in(word):
            path = folder / name
            if name and len(name) < 4096 and os.path.exists(path):
                yield path


def _names_in(word: str) -> Iterator[str]:
    yield word
    yield word.partition("=")[2]
    yield from (word.removeprefix(option) for option in _JOINED_OPTIONS if word.startswith(option))
