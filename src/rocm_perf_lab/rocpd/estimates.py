"""Reads which times and counters are estimates, and how far off they may be: the software device observes only a sample of a
large dispatch, and does not know exactly what the L2s hold after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.rocpd import validate
from rocm_perf_lab.rocpd.connect import Connection, table
from rocm_perf_lab.rocpd.edges import index_of

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Floats
    from rocm_perf_lab.rocpd.trace import Dispatches


@dataclass(frozen=True)
class Estimates:
    """How far values may be off, aligned with the dispatches; NaN for exact values. For a sampled dispatch, half-widths of 95 %
    intervals; for a later, smaller one, the share of L2 look-ups whose outcome is uncertain.

    durations: (n,) float64, as a fraction of the duration. counters: name -> (n,) float64, in the counter's unit.
    """

    durations: Floats
    counters: dict[str, Floats]


def read_estimates(connection: Connection, dispatches: Dispatches) -> Estimates | None:
    """The errors recorded in the database; None if no counter has one. Errors that are not finite numbers are ignored."""
    columns = {row[1] for row in connection.execute(f'PRAGMA table_info("{table(connection, "pmc_event")}")')}
    if "extdata" not in columns:
        return None
    rows = connection.execute(
        f"""SELECT p.name, e.event_id, SUM(json_extract(e.extdata, '$.error')) FROM "{table(connection, "pmc_event")}" e
            JOIN "{table(connection, "info_pmc")}" p ON p.id = e.pmc_id
            WHERE e.extdata LIKE '%"error"%' AND json_valid(e.extdata) GROUP BY p.name, e.event_id"""
    ).fetchall()
    if not rows:
        return None
    of_counter: dict[str, list[tuple[int, float]]] = {}
    for name, event, error in rows:
        of_counter.setdefault(validate.text(name), []).append((event, error))
    of_duration = connection.execute(
        f"""SELECT id, json_extract(extdata, '$.duration_error') FROM "{table(connection, "event")}"
            WHERE extdata LIKE '%"duration_error"%' AND json_valid(extdata)"""
    ).fetchall()
    counters = {name: _column(errors, dispatches) for name, errors in sorted(of_counter.items())}
    return Estimates(_column(of_duration, dispatches), counters)


def _column(errors: list[tuple[int, float]], dispatches: Dispatches) -> Floats:
    """The errors as a column, (n,), from pairs of an event and its error."""
    column = np.full(len(dispatches), np.nan)
    errors = [row for row in errors if isinstance(row[0], int) and validate.finite(row[1])]
    nodes = index_of(dispatches.event_id, np.array([event for event, _ in errors], np.int64))
    for node, (_, error) in zip(nodes.tolist(), errors, strict=True):
        if node >= 0:
            column[node] = error
    return column
