"""Shortens kernel names where space is limited: the middle is cut out, and different names never end up looking the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

_PROSE_WIDTH = 64  # width of a name within a sentence


class NameCell(str):
    """A table cell that may be shortened; other cells, in particular numbers, never are."""

    __slots__ = ()


class KernelNames:
    """The names of a report's kernels, without return types and arguments unless that would make two names identical."""

    def __init__(self, kernels: Iterable[str]) -> None:
        full = list(dict.fromkeys(kernels))
        self._unshortened = {kernel: short_name(kernel) for kernel in full}
        while alike := _alike(self._unshortened):
            self._unshortened |= {kernel: kernel for kernel in alike}
        self._in_prose = fitted(self._unshortened.values(), _PROSE_WIDTH)

    def cell(self, kernel: str) -> NameCell:
        """The name as a table cell; the table shortens it as needed."""
        return NameCell(self._unshortened.get(kernel) or short_name(kernel))

    def prose(self, kernel: str) -> str:
        """The name for use in a sentence, shortened if necessary."""
        name = self.cell(kernel)
        return self._in_prose.get(name) or fitted([name], _PROSE_WIDTH)[name]


def _alike(names: dict[str, str]) -> list[str]:
    """The kernels that share a short name but can still be told apart by their full names."""
    times = Counter(names.values())
    return [kernel for kernel, name in names.items() if times[name] > 1 and name != kernel]


def fitted(names: Iterable[str], width: int) -> dict[str, str]:
    """For each name, a version of at most `width` characters (8 or more); different names get different versions.

    Names that fit stay unchanged. The middle of longer names is cut out; if two would look alike, a piece around their first
    difference is kept, and a name that still looks like another one gets a number.
    """
    distinct = list(dict.fromkeys(names))
    shown = {name: name for name in distinct if len(name) <= width}
    alike: dict[str, list[str]] = {}
    for name in distinct:
        alike.setdefault(_middle_cut(name, width), []).append(name)
    used = set(shown)
    for name in distinct:
        if name not in shown:
            shown[name] = _unlike(used, name, _best(name, alike[_middle_cut(name, width)], width), width)
            used.add(shown[name])
    return shown


def _middle_cut(name: str, width: int) -> str:
    if len(name) <= width:
        return name
    tail = (width - 1) // 2
    return f"{name[: width - 1 - tail]}…{name[-tail:]}"


def _best(name: str, alike: list[str], width: int) -> str:
    if len(alike) == 1:
        return _middle_cut(name, width)
    return _cut_around(name, max(_common(name, other) for other in alike if other != name), width)


def _common(one: str, other: str) -> int:
    """The length of the common prefix."""
    pairs = enumerate(zip(one, other, strict=False))  # of different lengths
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def _cut_around(name: str, position: int, width: int) -> str:
    """The name's beginning, the piece around position `position`, and the end."""
    head = tail = (width - 2) // 3
    piece = width - 2 - head - tail
    begin = min(max(position - piece // 3, head + 1), len(name) - tail - piece - 1)
    return f"{name[:head]}…{name[begin : begin + piece]}…{name[-tail:]}" if begin > head else _middle_cut(name, width)


def _unlike(used: set[str], name: str, short: str, width: int) -> str:
    number = 2
    while short in used:
        suffix = f"#{number}"
        short = _middle_cut(name, width - len(suffix)) + suffix
        number += 1
    return short


def short_name(kernel: str) -> str:
    """A demangled kernel name without its return type and arguments."""
    return _without_arguments(kernel).removeprefix("void ")


def _without_arguments(kernel: str) -> str:
    """Cut at the first '(' outside template brackets; '(anonymous namespace)' is part of the name."""
    depth, position = 0, 0
    while position < len(kernel):
        if kernel.startswith("(anonymous namespace)", position):
            position += len("(anonymous namespace)")
            continue
        depth += {"<": 1, ">": -1}.get(kernel[position], 0)
        if kernel[position] == "(" and depth == 0 and position:
            return kernel[:position]
        position += 1
    return kernel


def shorten(text: str, width: int = 160) -> str:
    """The text, or its beginning and an ellipsis if it is too long."""
    return text if len(text) <= width else text[: width - 3] + "..."
