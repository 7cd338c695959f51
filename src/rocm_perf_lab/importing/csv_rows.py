"""Reads the rows of a CSV file; errors name the file and the line."""

from __future__ import annotations

import csv
import gzip
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rocm_perf_lab.errors import TraceError

_HINT = "profile the program again, or leave this file out"
csv.field_size_limit(1 << 24)  # names of C++ kernels can exceed the default of 128 KiB


class Row:
    """One row. A column can be requested by several names; the first one that the file contains is used."""

    def __init__(self, path: Path, line: int, index: Mapping[str, int], values: Sequence[str]):
        self._path, self._line, self._index, self._values = path, line, index, values

    def text(self, *names: str) -> str:
        """Raises TraceError if the file has no such column."""
        for name in names:
            if (column := self._index.get(name)) is not None:
                return self._values[column]
        raise TraceError(f"{self._path} has no column {names[0]}", _HINT)

    def integer(self, *names: str) -> int:
        """An integer, possibly as a spreadsheet writes it, such as 8.1E+14. Raises TraceError if there is none."""
        value = self.optional_integer(*names)
        if value is None:
            raise TraceError(f"{self._path} has no column {names[0]}", _HINT)
        return value

    def optional_integer(self, *names: str) -> int | None:
        """None if the file has no such column or this line has no value in it. Raises TraceError if it is not a number."""
        text = self._first_value(names)
        if text is None or not text.strip():
            return None
        try:
            return int(text)
        except ValueError:
            value = self.number(*names)
            return int(value)

    def number(self, *names: str) -> float:
        text = self.text(*names)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise TraceError(f"{self._path}, line {self._line}: {names[0]} is {text[:40]!r}, not a number", _HINT)
        return value

    def _first_value(self, names: Sequence[str]) -> str | None:
        return next((self._values[self._index[name]] for name in names if name in self._index), None)


def header(path: Path) -> list[str]:
    """The names of the columns; none for an empty file. Raises TraceError if the file cannot be read as CSV."""
    with _open(path) as file:
        return [name.strip() for name in next(csv.reader(file), [])]


def rows(path: Path) -> Iterator[Row]:
    """The rows below the header. Raises TraceError for a row that is too short, as at the end of a file that was cut off."""
    with _open(path) as file:
        reader = csv.reader(file)
        names = [name.strip() for name in next(reader, [])]
        index: dict[str, int] = {}
        for column, name in enumerate(names):
            index.setdefault(name, column)
        for values in reader:
            if values and len(values) < len(names):
                raise TraceError(
                    f"{path}, line {reader.line_num}: {len(values)} of {len(names)} columns; it was cut off", _HINT
                )
            if values:
                yield Row(path, reader.line_num, index, values)


@contextmanager
def _open(path: Path) -> Iterator[io.TextIOBase]:
    try:
        opened = gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")
        with io.TextIOWrapper(opened, "utf-8", "replace", newline="") as file:
            yield file
    except (OSError, EOFError) as error:
        raise TraceError(f"cannot read {path} ({getattr(error, 'strerror', None) or error})", _HINT) from error
    except csv.Error as error:
        raise TraceError(f"{path} is not a CSV file ({error})", _HINT) from error
