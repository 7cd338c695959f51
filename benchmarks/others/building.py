"""Copies programs out of the checkout, which is not changed, and builds the copies with their own Makefiles."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from others.checkout import COMPILER, SOURCES, Program, ProgramEntry
from others.process import RunResult, run

_UNWANTED = shutil.ignore_patterns("*.o", "*.gch")


def copy(program: Program, to: Path) -> Path:
    """Copy the program's folder to `to`, with links to (or copies of) the parts of the checkout that it names, and apply the
    table's changes. Returns the new folder. Raises ValueError if a change matches nothing.
    """
    shutil.rmtree(to, ignore_errors=True)
    folder = to / program.folder.name
    shutil.copytree(program.folder, folder, symlinks=True, ignore=_UNWANTED)
    changed = bool(program.entry.macros or program.entry.edits)
    for beside in program.checkout.glob("src/*"):
        if beside.name != folder.name and _is_neighbour(beside.name, program):
            _bring(beside, to / beside.name, is_whole_folder=changed and beside.name.endswith("-cuda"))
    for change in changes(program.entry):
        _apply(change, to)
    return folder


def _is_neighbour(name: str, program: Program) -> bool:
    stem = program.name
    return name in {f"{stem}-cuda", f"{stem}-omp", f"{stem}-sycl", "data", "include"} or f"../{name}" in program.neighbours()


def _bring(beside: Path, to: Path, is_whole_folder: bool) -> None:
    """Link a folder of the checkout, or copy it as a whole so that sizes in its files can be rewritten."""
    if is_whole_folder:
        shutil.copytree(beside, to, symlinks=True)
    else:
        to.symlink_to(beside.resolve())


def changes(program_entry: ProgramEntry) -> list[tuple[str, str]]:
    """The (pattern, replacement) pairs that the table asks for."""
    named = [word.partition("=")[::2] for word in program_entry.macros.split()]
    edits = [edit.split(" -> ") for edit in program_entry.edits.split(" ;; ") if edit]
    return [_definition(name, value) for name, value in named] + [(re.escape(old), new) for old, new in edits]


def _definition(name: str, value: str) -> tuple[str, str]:
    defined = rf"#\s*define\s+{name}[ \t]+"
    constant = rf"(?:static |constexpr |const |unsigned )*(?:int|long|size_t|float|double) {name} *= *"
    return rf"(?m)^(\s*(?:{defined}|{constant}))[^;/\n]+", rf"\g<1>{value}"


def _apply(change: tuple[str, str], folder: Path) -> None:
    if not any([_rewrite(path, *change) for path in _written_files(folder)]):
        raise ValueError(f"nothing in {folder} matches {change[0]}")


def _written_files(folder: Path) -> list[Path]:
    """The files that may be written: linked folders belong to the checkout, and rglob does not follow links."""
    files = (path for path in folder.rglob("*") if path.suffix in SOURCES)
    return sorted(path for path in files if path.is_file() and not path.is_symlink())


def _rewrite(path: Path, pattern: str, replacement: str) -> bool:
    text = path.read_text("utf-8", errors="surrogateescape")
    new, count = re.subn(pattern, replacement, text)
    if count:
        path.write_text(new, "utf-8", errors="surrogateescape")
    return bool(count)


def command(program: Program) -> list[str]:
    return ["make", f"CC={COMPILER}", *program.entry.make.split()]


def build(program: Program, folder: Path, log: Path, timeout: float) -> RunResult:
    return run(command(program), folder, log, timeout)
