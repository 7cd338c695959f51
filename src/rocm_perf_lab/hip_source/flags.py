"""Extracts from a build command the flags that determine how a source is parsed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

# Options that take the next word as a value and do not change the meaning of the source.
_DROPPED_WITH_VALUE = {"-o", "-MF", "-MT", "-MQ", "-Xlinker", "-L", "-l", "--save-stats"}
_DROPPED = (
    "-c",
    "-S",
    "-E",
    "-MD",
    "-MMD",
    "-MP",
    "-M",
    "-Werror",
    "-save-temps",
    "--save-temps",
    "-###",
    "-v",
    "-Wl,",
    "-l",
    "-L",
)
_TAKES_VALUE = {
    "-x",
    "-I",
    "-D",
    "-U",
    "-isystem",
    "-iquote",
    "-include",
    "-Xclang",
    "-mllvm",
    "-arch",
    "--param",
    "-idirafter",
}
_HEADERS = {".h", ".hpp", ".hh", ".hxx", ".cuh", ".hiph", ".inl", ".inc", ".ipp", ".tpp"}
_SOURCES = {".hip", ".cu", ".cpp", ".cc", ".cxx", ".c", ".cp"}


def parse_flags(command: Sequence[str], source: Path, folder: Path) -> list[str]:
    """Arguments that make libclang parse `source` the way `command` (which starts with the compiler) compiles it in `folder`.

    Output and linker options, other sources, and object files are omitted; relative include folders are made absolute. The
    result, after the compiler's name, is a command that yields the same result.
    """
    arguments: list[str] = []
    words = iter(command[1:])
    for word in words:
        if word in _DROPPED_WITH_VALUE:
            next(words, None)
        elif word in _TAKES_VALUE:
            value = next(words, "")
            arguments += [
                word,
                _absolute(value, folder) if word in ("-I", "-isystem", "-iquote", "-idirafter", "-include") else value,
            ]
        elif word.startswith("-I") and len(word) > 2:
            arguments.append("-I" + _absolute(word[2:], folder))
        elif word.startswith(_DROPPED) or not word.startswith("-"):
            continue
        else:
            arguments.append(word)
    if "-x" not in arguments:
        arguments = ["-x", "hip", *arguments]
    own = ["-I", str(source.resolve().parent)]
    return arguments if arguments[-2:] == own else [*arguments, *own]


def architectures(command: Sequence[str]) -> list[str]:
    """The targets of a command's --offload-arch options."""
    options = [word.split("=", 1)[1] for word in command if word.startswith(("--offload-arch=", "--cuda-gpu-arch="))]
    return [name for option in options for name in option.split(",")]


def target_of(command: Sequence[str]) -> str | None:
    """The first target among a command's --offload-arch options; None if it has none."""
    return next(iter(architectures(command)), None)


def is_source(word: str) -> bool:
    return Path(word).suffix in _SOURCES and not word.startswith("-")


def is_header(word: str) -> bool:
    return Path(word).suffix in _HEADERS and not word.startswith("-")


def _absolute(path: str, folder: Path) -> str:
    return path if Path(path).is_absolute() else str((folder / path).resolve())
