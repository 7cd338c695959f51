"""Reads counter values, which have one row per hardware instance, into one column per counter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.rocpd import validate
from rocm_perf_lab.rocpd.columns import NO_ID
from rocm_perf_lab.rocpd.connect import Connection, table
from rocm_perf_lab.rocpd.edges import index_of

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Floats, Integers
    from rocm_perf_lab.rocpd.trace import Dispatches

_ROWS_AT_ONCE = 100_000  # bounds the number of live Python objects


def read_counters(connection: Connection, dispatches: Dispatches) -> dict[str, Floats]:
    """Counter name -> (n,) float64, aligned with the dispatches and summed over the hardware instances; NaN where not
    collected.

    Instances are summed here rather than in SQL, which would sort all rows first.
    """
    name_of = {
        id: validate.text(name) for id, name in connection.execute(f'SELECT id, name FROM "{table(connection, "info_pmc")}"')
    }
    event, counter, value = _rows(connection)
    if len(value):
        validate.unique_events(dispatches.event_id)
    node = np.where(event == NO_ID, -1, index_of(dispatches.event_id, event))
    ids_of: dict[str, list[int]] = {}
    for id, name in name_of.items():
        ids_of.setdefault(name, []).append(id)
    order = np.argsort(counter, kind="stable")
    node, counter, value = node[order], counter[order], value[order]
    columns = {}
    for name, ids in sorted(ids_of.items()):
        rows = np.concatenate([np.arange(*np.searchsorted(counter, (id, id + 1))) for id in sorted(ids)])
        rows = rows[node[rows] >= 0]
        if len(rows) and (column := _sums(node[rows], value[rows], len(dispatches))) is not None:
            columns[name] = column
    return columns


def _sums(node: Integers, value: Floats, nodes: int) -> Floats | None:
    """(nodes,): the sum for each node, NaN for nodes that do not occur. None if no sum is finite."""
    sums = np.bincount(node, value, nodes)
    # A sum without one of its instances would look like a smaller count, so a value that is not a number makes the sum NaN.
    sums[(np.bincount(node, minlength=nodes) == 0) | ~np.isfinite(sums)] = np.nan
    return None if np.isnan(sums).all() else sums


def _rows(connection: Connection) -> tuple[Integers, Integers, Floats]:
    """For each row: the event or NO_ID, the counter's id, and the value, or NaN if the value is not a number."""
    events: list[Integers] = [np.empty(0, np.int64)]
    counters: list[Integers] = [np.empty(0, np.int64)]
    values: list[Floats] = [np.empty(0)]
    rows = connection.execute(f'SELECT event_id, pmc_id, value FROM "{table(connection, "pmc_event")}"')
    while chunk := rows.fetchmany(_ROWS_AT_ONCE):
        event, counter, value = zip(*chunk, strict=True)
        events.append(_ids(event))
        counters.append(_ids(counter))
        values.append(_numbers(value))
    return np.concatenate(events), np.concatenate(counters), np.concatenate(values)


def _ids(values: Sequence[object]) -> Integers:
    array = np.array(values)
    if array.dtype.kind != "i":
        array = np.array([value if isinstance(value, int) else NO_ID for value in values], np.int64)
    return array


def _numbers(values: Sequence[object]) -> Floats:
    array = np.array(values)
    if array.dtype.kind not in "if":
        array = np.array([value if isinstance(value, int | float) else np.nan for value in values], np.float64)
    return array.astype(np.float64, copy=False)
