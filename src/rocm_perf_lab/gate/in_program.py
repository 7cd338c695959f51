"""A candidate's dispatch in its own program leaves what the baseline's leaves there.

A replay differs from the program in where the code lies, at least, and a candidate can see that: so what is right in every
replay is looked at once more where it will be used.
"""

from __future__ import annotations

import numpy as np

from rocm_perf_lab.isolate import Capture

from .buffers import Arguments, Buffer
from .outputs import Difference, difference_in


def difference_in_program(
    before: tuple[Capture, Arguments], after: tuple[Capture, Arguments], ulps: int
) -> Difference | str | None:
    """before, after: the dispatch of the baseline's program, and of the candidate's. Buffers are the same by name.

    A str says why nothing can be compared: the program itself gives the kernel something else in each run.
    """
    theirs = {buffer.name: buffer for buffer in after[1].buffers}
    pairs = [(one, theirs.get(one.name)) for one in before[1].buffers]
    for one, other in pairs:
        if other is None or (one.layout, one.count) != (other.layout, other.count):
            return f"the program makes another `{one.name}` in each run"
        if not np.array_equal(_numbers(before[0], one, False), _numbers(after[0], other, False)):
            return f"the program fills `{one.name}` with other values in each run"
    for one, other in pairs:
        if found := difference_in(one, _numbers(before[0], one, True), _numbers(after[0], other, True), ulps):
            return found
    return None


def _numbers(capture: Capture, buffer: Buffer, after: bool) -> np.ndarray:
    """The buffer's bytes without its pointers, which are other ones in each process."""
    content = np.frombuffer(capture.memory(buffer.address, buffer.size, after=after), np.uint8).copy()
    for leaf in buffer.layout.leaves:
        if leaf.scalar is None:
            buffer.view(content, leaf)[...] = 0
    return content
