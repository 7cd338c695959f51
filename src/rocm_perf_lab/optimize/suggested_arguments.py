"""Uses a program's own help text to find other sizes with which the program can be run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from rocm_perf_lab import cage
from rocm_perf_lab.cage import CageLimits, View

_HELP = CageLimits(seconds=10.0, file_bytes=1 << 20)
_DEFAULT_SIZE = 2048

# `-n N`, `--size SIZE`, `--width=INT`, `--rows <n>`, each optionally preceded by other spellings: `-n, --size N`.
_OPTION = re.compile(r"(?<![\w-])((?:--?[A-Za-z][\w-]*,\s*)*--?[A-Za-z][\w-]*)(?:=|\s+)(<\w+>|\[\w+\]|[A-Z]\w*)")
_DEFAULT = re.compile(r"(?:default\w*|=)\W{0,3}(\d+)", re.IGNORECASE)
_NUMBERS = {"n", "m", "k", "w", "h", "i", "num", "number", "int", "integer", "uint", "size", "count", "len", "length"}
_NUMBERS |= {"width", "height", "depth", "rows", "cols", "columns", "elements", "batch", "batches", "dim", "x", "y", "z"}
_NO_SIZES = re.compile("seed|iter|repeat|warm|verb|device|gpu|thread|block|stream|time|run|help|version|log|port", re.I)


def other_arguments(program: Path, arguments: Sequence[str], view: View = View()) -> tuple[str, ...] | None:
    """The arguments with one size doubled; the size belongs to an option that takes one according to `PROGRAM --help`. None if
    there is no such option.

    view: what the cage shows to the program.
    """
    ended = cage.run([str(program), "--help"], program.parent, view, limits=_HELP)
    if ended.limit:
        return None
    return doubled((ended.stdout + ended.stderr).decode(errors="replace"), arguments)


def doubled(help_text: str, arguments: Sequence[str]) -> tuple[str, ...] | None:
    """Double the first size among the arguments or, if they contain none, add the first option that takes a size, and return
    the result. Return None if no option takes a size.
    """
    sizes = dict(_sizes(help_text))
    for position, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name in sizes and equals and value.isdigit():
            return (*arguments[:position], f"{name}={2 * int(value)}", *arguments[position + 1 :])
        if word in sizes and position + 1 < len(arguments) and arguments[position + 1].isdigit():
            return (*arguments[: position + 1], str(2 * int(arguments[position + 1])), *arguments[position + 2 :])
    if not sizes:
        return None
    name, (default, joined) = next(iter(sizes.items()))
    value = str(2 * default if default else _DEFAULT_SIZE)
    return (*arguments, f"{name}={value}") if joined else (*arguments, name, value)


def _sizes(help_text: str) -> Iterator[tuple[str, tuple[int | None, bool]]]:
    """Each option that takes a size, with a pair: its default (or None), and whether `=` comes before its value."""
    for line in help_text.splitlines():
        for option in _OPTION.finditer(line):
            value = option[2].strip("<>[]").lower()
            if value in _NUMBERS and not _NO_SIZES.search(option[1]):
                default = _DEFAULT.search(line, option.end())
                for name in reversed(re.split(r",\s*", option[1])):
                    yield name, (int(default[1]) if default else None, "=" in option[0])
