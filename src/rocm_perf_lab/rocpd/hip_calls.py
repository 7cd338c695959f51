"""Reads a trace's HIP calls and determines which work each of them launched.

If HSA calls were traced as well, a dispatch names the HSA call that rang the doorbell, which lies within the HIP call. In a
program that uses only HSA, the HSA call is the launching call.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.rocpd import validate
from rocm_perf_lab.rocpd.columns import integer_columns
from rocm_perf_lab.rocpd.connect import Connection, MissingTableError, table
from rocm_perf_lab.rocpd.factorize import factorize

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers

# Handles are unindexed text. If a trace has more arguments than this, its handles are not read, and the stream for which a call
# waits is inferred from the order in time.
_MAX_ARGUMENTS = 3_000_000


@dataclass(frozen=True)
class HipCalls:
    """The outermost of the HIP calls and of the HSA calls that launched something, ordered by thread and start; (c,).

    start, end: ns. name_index: into `names`. launcher: for every dispatch, then every copy, the index of the call that launched
    it, or -1; (n,). streams, events: index of a call -> the handle passed to it, as text; only for calls with such an argument.
    """

    thread: Integers
    start: Integers
    end: Integers
    name_index: Integers
    names: tuple[str, ...]
    launcher: Integers
    streams: dict[int, str]
    events: dict[int, str]

    def __len__(self) -> int:
        return len(self.start)


def read_hip_calls(connection: Connection, event_id: Integers) -> HipCalls | None:
    """event_id: for every dispatch, then every copy, (n,). Returns None if the trace has no HIP calls or does not link them to
    what they launched.
    """
    try:
        regions, events = table(connection, "region"), table(connection, "event")
    except MissingTableError:
        return None
    is_empty = connection.execute(f'SELECT 1 FROM "{regions}" LIMIT 1').fetchone() is None
    if is_empty or "stack_id" not in _columns(connection, events):
        return None
    columns = integer_columns(connection, ("id", "tid", "start", '"end"', "name_id", "event_id"), f'"{regions}"', "id")
    validate.rows("host calls", columns[0], columns[2], columns[3])
    stack = _stack_ids(connection, events, event_id)
    wanted = np.isin(columns[4], _hip_names(connection))
    launching = _index_of(columns[0], stack)
    wanted[launching[launching >= 0]] = True
    if not np.any(wanted):
        return None
    columns = [column[wanted] for column in columns]
    id, thread, start, end, name_id, event_of_call = columns
    order = np.lexsort((-end, start, thread))
    outermost, outer = _outermost(thread[order], start[order].astype(np.int64), end[order].astype(np.int64))
    outermost_rows = order[outermost]
    row = _index_of(id, stack)
    outer_of_row = np.empty(len(id), np.int64)
    outer_of_row[order] = outer
    launcher = np.where(row >= 0, outer_of_row[np.maximum(row, 0)], -1)
    ids, index = factorize(name_id[outermost_rows])
    arguments = _arguments(connection, event_of_call[outermost_rows])
    return HipCalls(
        thread=thread[outermost_rows],
        start=start[outermost_rows].astype(np.int64),
        end=end[outermost_rows].astype(np.int64),
        name_index=index,
        names=tuple(_text(connection, int(id)) for id in ids),
        launcher=launcher,
        streams=arguments.get("stream", {}),
        events=arguments.get("event", {}),
    )


def _columns(connection: Connection, name: str) -> set[str]:
    return {row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')}


def _hip_names(connection: Connection) -> Integers:
    """The ids of strings that name a HIP runtime call, except internal ones such as '__hipPushCallConfiguration'."""
    rows = connection.execute(f"""SELECT id FROM "{table(connection, "string")}" WHERE string GLOB 'hip[A-Z]*'""")
    return np.array([id for (id,) in rows if isinstance(id, int)], np.int64)


def _text(connection: Connection, id: int) -> str:
    row = connection.execute(f'SELECT string FROM "{table(connection, "string")}" WHERE id = ?', (id,)).fetchone()
    return validate.text(row[0]) if row else f"call {id}"


def _outermost(thread: Integers, start: Integers, end: Integers) -> tuple[Integers, Integers]:
    """For calls ordered by thread and start: the indices of the calls that are not inside another call and, for every call,
    which of those contains it.
    """
    span = int(end.max()) - int(start.min())
    number = np.cumsum(np.r_[0, thread[1:] != thread[:-1]])
    latest = np.maximum.accumulate(end - int(start.min()) + number * span)
    begins = start - int(start.min()) + number * span
    is_outer = np.r_[True, (begins[1:] >= latest[:-1]) | (number[1:] != number[:-1])]
    return np.flatnonzero(is_outer), np.cumsum(is_outer) - 1


def _stack_ids(connection: Connection, events: str, wanted: Integers) -> Integers:
    """The id of the launching call for each event in `wanted`; -1 if there is none."""
    id, stack = integer_columns(connection, ("id", "stack_id"), f'"{events}"', "id")
    index = _index_of(id, wanted)
    return np.where(index >= 0, stack[np.maximum(index, 0)] if len(stack) else -1, -1)


def _index_of(ascending: Integers, wanted: Integers) -> Integers:
    """The index of each wanted id in `ascending`, whose ids are in ascending order, or -1."""
    if not len(ascending):
        return np.full(len(wanted), -1, np.int64)
    if int(ascending[-1]) - int(ascending[0]) + 1 == len(ascending):  # consecutive, as collectors number them
        index = wanted.astype(np.int64) - int(ascending[0])
        return np.where((index >= 0) & (index < len(ascending)), index, -1)
    index = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return np.where(ascending[index] == wanted, index, -1)


def _arguments(connection: Connection, event_of_call: Integers) -> dict[str, dict[int, str]]:
    """'stream' or 'event' -> index of the call -> handle. Empty if no arguments, or too many to read, were recorded."""
    try:
        arguments = table(connection, "arg")
        (last,) = connection.execute(f'SELECT MAX(id) FROM "{arguments}"').fetchone()
    except (MissingTableError, sqlite3.OperationalError):
        return {}
    if not isinstance(last, int) or last > _MAX_ARGUMENTS:
        return {}
    index_of = dict(zip(event_of_call.tolist(), range(len(event_of_call)), strict=True))
    handles: dict[str, dict[int, str]] = {"stream": {}, "event": {}}
    for event, name, value in connection.execute(
        f"""SELECT event_id, name, value FROM "{arguments}" WHERE name IN ('stream', 'event')"""
    ):
        index = index_of.get(event)
        if index is not None and value is not None:
            handles[validate.text(name)][index] = validate.text(value)
    return handles
