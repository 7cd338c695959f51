"""Rejects data that no profiler would write: SQLite checks neither types nor plausibility, and nothing must be computed from
bad data.

A failed check raises ImpossibleContentsError, a sqlite3.DatabaseError, which rocpd.connect turns into an error that names the
file.
"""

from __future__ import annotations

import json
import math
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers

_CHECKED_BYTES = 64 << 20  # SQLite's own check reads the file a second time, which takes at most a second up to this size
_MAX_SPAN_NS = 366 * 24 * 3600 * 10**9
_INT32_MAX = 2**31 - 1


class ImpossibleContentsError(sqlite3.DatabaseError):
    """The file is a sound database, but its contents are impossible."""


def intact(connection: sqlite3.Connection, path: Path) -> None:
    """Run SQLite's integrity check. It is skipped for large files; damage that SQLite encounters while reading is still
    found.
    """
    if path.stat().st_size <= _CHECKED_BYTES:
        (state,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if state != "ok":
            raise ImpossibleContentsError(" ".join(str(state).split())[:100])


def rows(label: str, id: Integers, start: Integers, end: Integers) -> None:
    """Check rows in ascending order of id: ids must be unique, and times in ns must be present and plausible for a clock."""
    if np.any(np.diff(id.astype(np.int64)) <= 0):
        raise ImpossibleContentsError(f"two {label} have the same id")
    if not len(start):
        return
    if start.min() < 0 or end.min() < 0:
        raise ImpossibleContentsError(f"some {label} have no times")
    if np.any(end < start):
        raise ImpossibleContentsError(f"{int(np.count_nonzero(end < start))} {label} end before they start")
    if int(end.max()) - int(start.min()) > _MAX_SPAN_NS:
        raise ImpossibleContentsError(f"the {label} span more than a year")


def sizes(label: str, *columns: Integers) -> None:
    """Check that all values are sizes that a dispatch can have: 0 to 2^31 - 1."""
    for column in columns:
        if column.size and not 0 <= int(column.min()) <= int(column.max()) <= _INT32_MAX:
            raise ImpossibleContentsError(f"some {label} have an impossible size")


def unique_events(event_id: Integers) -> None:
    """Check that events are unique: counters belong to events, so two dispatches with the same event would share its
    counters.
    """
    known = np.sort(event_id[event_id >= 0])
    if np.any(known[1:] == known[:-1]):
        raise ImpossibleContentsError("two dispatches have the same event")


def text(value: object) -> str:
    """The value of a text column; '' for NULL."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)


def integer(value: object, name: str, minimum: int = 0, maximum: int = _INT32_MAX) -> int:
    """The value of an integer column; 0 for NULL."""
    if value is None:
        return 0
    if not isinstance(value, int) or not minimum <= value <= maximum:
        raise ImpossibleContentsError(f"{name} contains an impossible value")
    return value


def finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def json_object(value: object) -> dict[str, Any]:
    """The object in a JSON column. Other values are treated as absent: such columns are free-form extensions."""
    try:
        parsed = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}
