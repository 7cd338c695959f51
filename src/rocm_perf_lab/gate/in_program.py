"""A candidate's dispatch in its own program leaves what the baseline's leaves there.

A replay differs from the program in where the code lies, at least, and a candidate can see that: so what is right in every
replay is looked at once more where it will be used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.gate.buffers import Arguments, Buffer
from rocm_perf_lab.gate.outputs import Difference, difference_in
from rocm_perf_lab.isolate import Capture

if TYPE_CHECKING:
    from rocm_perf_lab.gate.numbers import Bytes

InProgram = tuple[Capture, Arguments]
"""A dispatch where it is in a program."""


def difference_in_program(
    before: InProgram, after: InProgram, baseline_again: Callable[[], InProgram], ulps: int
) -> tuple[Difference | None, list[str]]:
    """before, after: the dispatch of the baseline's program, and of the candidate's. Buffers are the same by name.
    baseline_again: another run of the first, asked for where there is a difference: what differs there as well says nothing.

    The difference; the names of what could not be compared.
    """
    unlike: list[str] = []
    for at_end in (False, True):  # before it, there is what earlier dispatches left
        for name, one, other in _pairs(before, after):
            found = _difference(before[0], one, after[0], other, at_end, ulps)
            if found is None or name in unlike:
                continue
            again = baseline_again()
            twin = next(iter(buffer for buffer in again[1].buffers if buffer.name == name), None)
            if _difference(before[0], one, again[0], twin, at_end, ulps) is None:
                when = "" if at_end else " (left by an earlier dispatch)"
                return Difference(found.reason + when, found.where), unlike
            unlike.append(name)
    return None, unlike


def _pairs(before: InProgram, after: InProgram) -> Iterator[tuple[str, Buffer, Buffer | None]]:
    theirs = {buffer.name: buffer for buffer in after[1].buffers}
    return ((one.name, one, theirs.get(one.name)) for one in before[1].buffers)


def _difference(
    before: Capture, one: Buffer, after: Capture, other: Buffer | None, at_end: bool, ulps: int
) -> Difference | None:
    if other is None or (one.layout, one.count) != (other.layout, other.count):
        return Difference(f"`{one.name}` has another size or type")
    return difference_in(one, _numbers(before, one, at_end), _numbers(after, other, at_end), ulps)


def _numbers(capture: Capture, buffer: Buffer, after: bool) -> Bytes:
    """The buffer's bytes without its pointers, which are other ones in each process."""
    content: Bytes = np.frombuffer(capture.memory(buffer.address, buffer.size, after=after), np.uint8).copy()
    for leaf in buffer.layout.leaves:
        if leaf.scalar is None:
            buffer.view(content, leaf)[...] = 0
    return content
