"""A part of a trace: a window of time, and one GPU."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rocm_perf_lab.rocpd.trace import Agent, Copies, Dispatches
from rocm_perf_lab.rocpd.trace_part import WHOLE_TRACE, EmptyPartError, TracePart, restrict

AGENTS = {
    id: Agent(id, type, "gfx942", "", None, {}) for id, type in ((0, "CPU"), (4, "GPU"), (5, "NIC"), (6, "GPU"), (9, "GPU"))
}
NAMES = ("H2D", "D2H")


def tables() -> tuple[Dispatches, Copies]:
    """Dispatches 1 to 4 start at 110, 120, 130 and 140 on GPUs 4, 6, 4 and 4; copies 1 and 2 at 100 and 125 on 4 and 6."""
    one, two = np.arange(1, 5), np.arange(1, 3)
    three = np.arange(12).reshape(4, 3)
    dispatches = Dispatches(
        one, one, one, np.array([4, 6, 4, 4]), one, one, 100 + 10 * one, 105 + 10 * one, one, one, three, three
    )
    return dispatches, Copies(two, two, np.array([4, 6]), two, 75 + 25 * two, 80 + 25 * two, two, np.array([1, 0]), NAMES)


def kept(part: TracePart) -> tuple[list[int], list[int]]:
    dispatches, copies = restrict(part, AGENTS, *tables())
    assert dispatches.workgroup.shape == (len(dispatches), 3) and copies.names == NAMES
    assert [NAMES[index] for index in copies.name_index] == [{1: "D2H", 2: "H2D"}[id] for id in copies.id.tolist()]
    return dispatches.id.tolist(), copies.id.tolist()


@pytest.mark.parametrize(
    "window, dispatches, copies",
    [
        ((None, None), [1, 2, 3, 4], [1, 2]),
        ((10, None), [1, 2, 3, 4], [2]),
        ((11, None), [2, 3, 4], [2]),
        ((None, 25), [1, 2], [1]),
        ((None, 26), [1, 2], [1, 2]),
        ((20, 40), [2, 3], [2]),
        ((0, 41), [1, 2, 3, 4], [1, 2]),
    ],
)
def test_a_window_holds_what_starts_in_it_counted_from_the_first_start(window, dispatches, copies):
    assert kept(TracePart(window=window)) == (dispatches, copies)


@pytest.mark.parametrize("gpu, dispatches, copies", [(0, [1, 3, 4], [1]), (1, [2], [2])])
def test_gpus_are_counted_without_other_agents(gpu, dispatches, copies):
    assert kept(TracePart(gpu)) == (dispatches, copies)
    assert kept(TracePart(gpu, (0, 41))) == (dispatches, copies)


@pytest.mark.parametrize(
    "part, said",
    [
        (TracePart(window=(41, None)), "no dispatch starts in the time window"),
        (TracePart(window=(0, 10)), "no dispatch starts in the time window"),
        (TracePart(2), "GPU 2 has no dispatch in the trace"),
        (TracePart(3), "there is no GPU 3 in the trace"),
        (TracePart(4), "there is no GPU 4 in the trace"),
        (TracePart(1, (30, None)), "GPU 1 has no dispatch in the trace"),
    ],
)
def test_an_empty_part_is_refused(part, said):
    with pytest.raises(EmptyPartError, match=said):
        kept(part)


def test_the_whole_trace_stays_unchanged():
    dispatches, copies = tables()
    found = restrict(WHOLE_TRACE, AGENTS, dispatches, copies)
    assert found[0] is dispatches and found[1] is copies


def test_a_window_of_a_trace_in_which_nothing_ran():
    none = np.empty(0, np.int64)
    nothing = (Dispatches(*[none] * 10, none.reshape(0, 3), none.reshape(0, 3)), Copies(*[none] * 8, ()))
    assert restrict(TracePart(window=(5, None)), AGENTS, *nothing) == nothing


def test_a_window_does_not_depend_on_how_many_dispatches_and_copies_there_are():
    dispatches, copies = tables()
    for some, others in ((slice(0, 2), slice(0, 2)), (slice(0, 2), slice(0, 0))):
        rows = [
            replace(table, **{name: column[part] for name, column in vars(table).items() if isinstance(column, np.ndarray)})
            for table, part in ((dispatches, some), (copies, others))
        ]
        origin = 100 if len(rows[1]) else 110
        found, _ = restrict(TracePart(window=(120 - origin, None)), AGENTS, *rows)
        assert found.id.tolist() == [2]
