"""Selects a part of a trace: one GPU, a window of time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.rocpd.trace import Agent, Copies, Dispatches

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Mask

_Table = TypeVar("_Table", Dispatches, Copies)


@dataclass(frozen=True)
class TracePart:
    """gpu: 0-based index among the trace's GPUs, as HIP numbers them; None for all.

    window: (from, to) in ns after the first start of a dispatch or copy; None leaves an end open. The window contains the work
    that starts within it.
    """

    gpu: int | None = None
    window: tuple[int | None, int | None] | None = None


WHOLE_TRACE = TracePart()


class EmptyPartError(UsageError):
    """The requested part contains no dispatch of this trace."""


def restrict(part: TracePart, agents: dict[int, Agent], dispatches: Dispatches, copies: Copies) -> tuple[Dispatches, Copies]:
    """The rows that belong to the part. Raises EmptyPartError if the trace has no such GPU, or the part contains no
    dispatch.
    """
    if part.window is not None and len(dispatches) + len(copies):
        origin = min(int(rows.start.min()) for rows in (dispatches, copies) if len(rows))
        dispatches, copies = _in_window(dispatches, part.window, origin), _in_window(copies, part.window, origin)
        if not len(dispatches):
            hint = "widen --time-window, which counts from the first dispatch or copy"
            raise EmptyPartError("no dispatch starts in the time window", hint)
    if part.gpu is not None:
        gpus = [agent.id for agent in agents.values() if agent.type == "GPU"]
        if part.gpu >= len(gpus):
            raise EmptyPartError(f"there is no GPU {part.gpu} in the trace", f"it has {len(gpus)}, counted from 0")
        gpu = gpus[part.gpu]
        dispatches, copies = _rows(dispatches, dispatches.agent_id == gpu), _rows(copies, copies.agent_id == gpu)
        if not len(dispatches):
            raise EmptyPartError(f"GPU {part.gpu} has no dispatch in the trace", "choose a different --gpu, or omit it")
    return dispatches, copies


def _in_window(rows: _Table, window: tuple[int | None, int | None], origin: int) -> _Table:
    begin, end = window
    mask = np.ones(len(rows), bool)
    if begin is not None:
        mask &= rows.start >= origin + begin
    if end is not None:
        mask &= rows.start < origin + end
    return _rows(rows, mask)


def _rows(rows: _Table, mask: Mask) -> _Table:
    columns: dict[str, Any] = {name: column[mask] for name, column in vars(rows).items() if isinstance(column, np.ndarray)}
    return replace(rows, **columns)
