"""Arguments that ask for less work: what a GPU does in a second takes a software device hours."""

from __future__ import annotations

import re

_REPEATS = re.compile(r"(?i)repeat|iter|steps|passes|launches|rounds|runs|trials|epoch")
_NAMES = re.compile(r"<([A-Za-z][^<>]*)>")
_ITEMS = 18  # log2 of the elements that all sizes together may ask for
_SMALL_NUMBER = 256  # numbers up to this are taken for block sizes, radii or numbers of channels


def smaller(arguments: list[str], usage: str) -> list[str]:
    """Reduce the arguments. usage: the program's own usage line, which names them. If it does not name them all, the last of
    several arguments is taken for the number of repetitions.
    """
    names = _NAMES.findall(usage)
    if len(names) != len(arguments):
        names = [""] * (len(arguments) - 1) + ["repeat"] if len(arguments) > 1 else [""] * len(arguments)
    sizes = sum(_is_size(value, name) for value, name in zip(arguments, names, strict=True))
    limit = 2 ** (_ITEMS // max(1, sizes))
    return [_reduced(value, name, limit) for value, name in zip(arguments, names, strict=True)]


def usage_of(texts: list[str]) -> str:
    """The statement that prints the usage line; empty if there is none in which <names> occur."""
    usages = (match.group() for text in texts for match in re.finditer(r"(?is)usage.{0,500}?;", text))
    return next((statement for statement in usages if _NAMES.search(statement)), "")


def _is_size(value: str, name: str) -> bool:
    return value.isdecimal() and int(value) > _SMALL_NUMBER and not _REPEATS.search(name)


def _reduced(value: str, name: str, limit: int) -> str:
    if not value.isdecimal():
        return value
    if _REPEATS.search(name):
        return str(min(int(value), 2))
    return str(min(int(value), limit)) if _is_size(value, name) else value
