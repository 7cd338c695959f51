"""What is to be optimised: the program, its one source, and the command that makes the one of the other."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.errors import MissingInputError, NoSourceError, UsageError
from rocm_perf_lab.hip_source.flags import from_database, is_source

from .compile import BuildCommand

DATABASE = "compile_commands.json"
SOURCE, BINARY = "SOURCE", "BINARY"  # what stands for the two in --build
_DEFAULT = ("hipcc", "-O3", SOURCE, "-o", BINARY)
_KERNEL_MARK = b"__global__"


@dataclass(frozen=True)
class Subject:
    """source: the file to change. build: makes the whole program of it. name: the program's file name.

    arguments: what the program is started with. found_by: how the source was found, in words.
    """

    source: Path
    build: BuildCommand
    name: str
    arguments: tuple[str, ...]
    found_by: str


def find_subject(words: Sequence[str], source: Path | None, build: str | None) -> Subject:
    """words: PROGRAM ARGS..., or SOURCE "PROGRAM ARGS...". source, build: as the user gave them, None where not.

    Errors: UsageError, MissingInputError, NoSourceError where no source, or more than one, could be the program's.
    """
    if not words:
        raise UsageError("no program given", "name one after the options, for example `./app --its-arguments`")
    program, arguments = program_of(words, source)
    found_by = "--source"
    if source is None and is_source(words[0]):
        source, found_by = Path(words[0]), "the command line"
    elif source is None:
        source, found_by = _found(program)
    if not source.is_file():
        what = f"{source} is not a file" if source.exists() else f"{source} does not exist"
        raise MissingInputError(what, "name the program's source with --source")
    return Subject(source, _build(build, source, program), program.name, tuple(arguments), found_by)


def program_of(words: Sequence[str], source: Path | None) -> tuple[Path, list[str]]:
    """The program and its arguments; of SOURCE alone the program of its stem. Raises UsageError."""
    if source is None and is_source(words[0]):
        words = words[1:] or (f"./{Path(words[0]).stem}",)
    program, *arguments = _split(words)
    if program.startswith("-"):
        raise UsageError(f"{program} is where the program should be", "put options before the source and the program")
    return Path(program), arguments


def _split(words: Sequence[str]) -> list[str]:
    if os.path.exists(words[0]) or (len(words) > 1 and not any(map(str.isspace, words[0]))):
        return list(words)
    if len(words) > 1:
        raise UsageError(f"{words[1]} follows the program {words[0]!r}", "put options before it, and arguments into its quotes")
    try:
        return shlex.split(words[0]) or [""]
    except ValueError as error:
        raise UsageError(f"cannot split {words[0]!r} into words ({error})", "balance its quotes") from error


def _found(program: Path) -> tuple[Path, str]:
    if not program.is_file() and os.sep not in str(program) and (found := shutil.which(program)):
        what = f"{program} is {found}, which is built of no HIP source here"
        raise NoSourceError(what, "name the program that is (./app), or the source that it runs: --source FILE --build CMD")
    if not program.is_file():
        raise MissingInputError(f"{program} does not exist", "build it first, or name its source: --source FILE")
    ways = (("its debug information", _by_debug_information), (DATABASE, _by_database), ("its name", _by_stem))
    for how, way in ways:
        sources = [path for path in dict.fromkeys(way(program)) if _has_kernels(path)]
        if len(sources) == 1:
            return sources[0], how
        if sources:
            names = ", ".join(map(str, sources[:5]))
            raise NoSourceError(f"{program} has {len(sources)} sources with kernels ({names})", "choose one with --source")
    raise NoSourceError(
        f"the source of {program} was not found (no debug information, no {DATABASE}, no file of its name beside it)",
        "name it with --source, or build the program with -g",
    )


def _by_debug_information(program: Path) -> Iterator[Path]:
    """The files that the program's compile units name (DWARF 5, section 3.1.1) and that are still there."""
    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with program.open("rb") as file:
            elf = ELFFile(file)
            if not elf.has_dwarf_info():
                return
            for unit in elf.get_dwarf_info().iter_CUs():
                attributes = unit.get_top_DIE().attributes
                name, folder = (
                    attributes[key].value.decode() if key in attributes else "" for key in ("DW_AT_name", "DW_AT_comp_dir")
                )
                if name and (Path(folder) / name).is_file():
                    yield (Path(folder) / name).resolve()
    except (ELFError, DWARFError, OSError, UnicodeDecodeError):
        return  # a script, or damaged: the other ways are left


def _by_database(program: Path) -> Iterator[Path]:
    """The database's sources of the program's own stem, else all of them."""
    database = _database_near(program)
    if database is None:
        return
    import json

    try:
        entries = [(Path(entry["directory"]) / entry["file"]).resolve() for entry in json.loads(database.read_text())]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{database} is not a compilation database ({error!r})", "mend it, or name the --source") from error
    there = [path for path in entries if path.is_file()]
    yield from [path for path in there if path.stem == program.stem] or there


def _by_stem(program: Path) -> Iterator[Path]:
    stems = (program.stem, program.stem.removesuffix("_testbed"))
    for path in sorted(program.resolve().parent.iterdir()):
        if path.stem in stems and is_source(path.name):
            yield path


def _database_near(path: Path) -> Path | None:
    folders = [path.resolve().parent, *path.resolve().parent.parents[:2], Path.cwd()]
    return next((folder / DATABASE for folder in folders if (folder / DATABASE).is_file()), None)


def _has_kernels(path: Path) -> bool:
    return is_source(path.name) and _KERNEL_MARK in path.read_bytes()


def _build(text: str | None, source: Path, program: Path) -> BuildCommand:
    """The build with {source} and {output} where the user wrote SOURCE and BINARY, or the two files' names."""
    folder = Path.cwd()
    if text is not None:
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise UsageError(f"cannot split --build {text!r} into words ({error})", "balance its quotes") from error
    else:
        words, folder = _from_database(source, program) or (list(_DEFAULT), folder)
    filled = [_marked(word, source, program, folder, after) for word, after in zip(words, ["", *words], strict=False)]
    if "{source}" not in filled or "{output}" not in filled:
        raise UsageError(
            f"--build does not name {source.name} and what it makes of it", f"write them as {SOURCE} and -o {BINARY}"
        )
    return BuildCommand(tuple(filled), folder.resolve())


def _from_database(source: Path, program: Path) -> tuple[list[str], Path] | None:
    """A compilation database's flags, for compiling and linking in one."""
    database = _database_near(program) or _database_near(source)
    try:
        entry = from_database(database, source) if database else None
    except ValueError as error:
        raise UsageError(str(error), "mend it, or give --build") from error
    if entry is None:
        return None
    words, folder = entry
    kept = [word for word in words if word != "-c"]
    if "-o" in kept:
        kept[kept.index("-o") + 1] = BINARY
    else:
        kept += ["-o", BINARY]
    return kept, folder


def _marked(word: str, source: Path, program: Path, folder: Path, before: str) -> str:
    if word == SOURCE or (is_source(word) and (folder / word).resolve() == source.resolve()):
        return "{source}"
    return "{output}" if word == BINARY or before == "-o" else word
