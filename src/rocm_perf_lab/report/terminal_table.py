"""Tables for the terminal report that fit any width: names are shortened, numbers never are."""

from __future__ import annotations

import bisect
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocm_perf_lab.text.names import NameCell, fitted

if TYPE_CHECKING:
    from rich.console import Console

_GAP = 2  # spaces before each column
_COMFORTABLE_WIDTH, _MIN_WIDTH = 32, 16  # how short names may get before headings are folded, and before the table is split
_MIN_SPLIT_WIDTH = 12


class Table:
    """The first column is left-aligned and the others right-aligned. Cells of type NameCell can be shortened.

    If the table is too wide, names are shortened, then headings are folded. Finally, columns that still do not fit are
    printed below the rest, with the first column repeated next to them.
    """

    def __init__(self, *headings: str) -> None:
        self._headings = headings
        self._rows: list[Sequence[str]] = []

    def add_row(self, *cells: str) -> None:
        if len(cells) != len(self._headings):
            raise ValueError(f"{len(cells)} cells for {len(self._headings)} columns")
        self._rows.append(cells)

    def show(self, console: Console) -> None:
        """Print the table within the console's width; a number that is wider than the console is still printed in full."""
        blocks, widths, names = self._layout(console.width)
        for columns in blocks:
            for line in self._heading_lines(columns, widths):
                _print(console, line, "dim")
            for row in self._rows:
                cells = [names.get(row[c], row[c]) if isinstance(row[c], NameCell) else row[c] for c in columns]
                _print(console, _line(cells, [widths[c] for c in columns]))

    def _layout(self, room: int) -> tuple[list[list[int]], list[int], dict[str, str]]:
        """The columns of each block, the width of each column, and the written form of each name."""
        everything = [list(range(len(self._headings)))]
        for folded, least in ((False, _COMFORTABLE_WIDTH), (True, _MIN_WIDTH)):
            cap = self._cap(everything[0], room, folded)
            if cap >= min(least, self._longest()):
                return everything, *self._widths(cap, folded)
        least = max(_MIN_SPLIT_WIDTH, min(_MIN_WIDTH, room // 2 - 2 * _GAP))
        blocks = self._blocks(room, least)
        cap = max(_MIN_SPLIT_WIDTH, min(self._cap(columns, room, True) for columns in blocks))
        return blocks, *self._widths(cap, True)

    def _longest(self) -> int:
        return max((len(cell) for row in self._rows for cell in row if isinstance(cell, NameCell)), default=0)

    def _cap(self, columns: Sequence[int], room: int, folded: bool) -> int:
        """The maximum name length at which these columns fit; -1 if they do not fit, however short the names are."""
        caps = range(self._longest() + 1)
        return bisect.bisect_right(caps, room, key=lambda cap: self._total(columns, cap, folded)) - 1

    def _total(self, columns: Sequence[int], cap: int, folded: bool) -> int:
        return sum(_GAP + self._width(column, cap, folded) for column in columns)

    def _width(self, column: int, cap: int, folded: bool) -> int:
        heading = self._headings[column]
        least = max(map(len, heading.split()), default=0) if folded else len(heading)
        cells = (min(len(row[column]), cap) if isinstance(row[column], NameCell) else len(row[column]) for row in self._rows)
        return max(least, max(cells, default=0))

    def _widths(self, cap: int, folded: bool) -> tuple[list[int], dict[str, str]]:
        names = fitted((cell for row in self._rows for cell in row if isinstance(cell, NameCell)), max(cap, _MIN_SPLIT_WIDTH))
        return [self._width(column, cap, folded) for column in range(len(self._headings))], names

    def _blocks(self, room: int, cap: int) -> list[list[int]]:
        blocks = [[0]]
        for column in range(1, len(self._headings)):
            if len(blocks[-1]) > 1 and self._total([*blocks[-1], column], cap, True) > room:
                blocks.append([0])
            blocks[-1].append(column)
        return blocks

    def _heading_lines(self, columns: Sequence[int], widths: Sequence[int]) -> list[str]:
        folded = [textwrap.wrap(self._headings[column], widths[column]) for column in columns]
        height = max(map(len, folded))
        cells = [[""] * (height - len(lines)) + lines for lines in folded]  # aligned at the bottom
        return [_line([lines[number] for lines in cells], [widths[column] for column in columns]) for number in range(height)]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    gap = " " * _GAP
    return (gap + first[0].ljust(first[1]) + "".join(gap + cell.rjust(width) for cell, width in rest)).rstrip()


def _print(console: Console, line: str, style: str = "") -> None:
    from rich.text import Text

    console.print(Text(line, style=style), no_wrap=True, crop=False, overflow="ignore")
