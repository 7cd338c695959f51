"""Compares memory after a dispatch in the candidate's program with memory after the same dispatch in the baseline's.

A replay differs from the program at least in the address of the code, which a candidate can observe. So a candidate that is
correct in every replay is checked once more in the program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.gate.equivalence.kernel_inputs import Buffer, KernelInputs
from rocm_perf_lab.gate.equivalence.memory_difference import Difference, buffer_difference, location
from rocm_perf_lab.gate.equivalence.program_memory import (
    Key,
    ProgramMemory,
    differing_extent,
    newly_written_extent,
    rewritten_code,
    unmatched_part,
)
from rocm_perf_lab.isolate import Capture

if TYPE_CHECKING:
    from rocm_perf_lab.gate.equivalence.numbers import Bytes

DispatchInProgram = tuple[Capture, KernelInputs]
"""A dispatch captured in a program, with its inputs."""

RepeatBaseline = Callable[[int], DispatchInProgram]
"""Returns the dispatch captured in another run of the baseline's program; 0 stands for the first such run."""

_RUNS = 3  # baseline runs that must agree with the first: random values may happen to be equal in two runs


def difference_in_program(
    before: DispatchInProgram, after: DispatchInProgram, baseline_again: RepeatBaseline, ulps: int
) -> tuple[Difference | None, list[str]]:
    """Compare the same dispatch in two programs.

    before, after: the dispatch in the baseline's program and in the candidate's. Buffers are matched by name. baseline_again:
    called only if there is a difference; differences that also occur between runs of the baseline are ignored.

    All captured memory is compared, not only the kernel's own buffers: a candidate could write memory that other kernels use.

    Returns the difference, and the names of the parts of memory that could not be compared. Raises SourceError.
    """
    difference, unlike = _difference_in_buffers(before, after, baseline_again, ulps)
    return (
        (difference, unlike)
        if difference is not None
        else _difference_in_all_memory(before, after, baseline_again, ulps, unlike)
    )


def _difference_in_buffers(
    before: DispatchInProgram, after: DispatchInProgram, baseline_again: RepeatBaseline, ulps: int
) -> tuple[Difference | None, list[str]]:
    """Compare the numbers in the kernel's buffers according to their types."""
    unlike: list[str] = []
    for at_end in (False, True):  # before the dispatch, memory holds the results of earlier dispatches
        for name, buffer, counterpart in _buffer_pairs(before, after):
            difference = _buffer_difference(before[0], buffer, after[0], counterpart, at_end, ulps)
            if difference is None or name in unlike:
                continue
            again = ((capture, _buffer_named(inputs, name)) for capture, inputs in map(baseline_again, range(_RUNS)))
            if all(_buffer_difference(before[0], buffer, capture, twin, at_end, ulps) is None for capture, twin in again):
                when = "" if at_end else " (left by an earlier dispatch)"
                return Difference(difference.reason + when, difference.where), unlike
            unlike.append(name)
    return None, unlike


def _difference_in_all_memory(
    before: DispatchInProgram, after: DispatchInProgram, baseline_again: RepeatBaseline, ulps: int, unlike: Sequence[str]
) -> tuple[Difference | None, list[str]]:
    """Compare all memory, byte for byte. unlike: buffers whose contents vary between runs of the baseline."""
    names = [*unlike]
    baseline, candidate = (ProgramMemory.of(capture) for capture, _ in (before, after))
    memory_of = functools.cache(lambda index: ProgramMemory.of(baseline_again(index)[0]))

    def again() -> Iterator[ProgramMemory]:
        return map(memory_of, range(_RUNS))

    if (address := rewritten_code(candidate)) is not None:
        if rewritten_code(baseline) is None:
            return Difference(f"the code at {address:#x} differs from its file"), names
        names.append("the kernel's code object")
    if name := unmatched_part(baseline, candidate):
        if not any(unmatched_part(baseline, run) for run in again()):
            return Difference(f"only one of the two programs has {name}"), names
        names.append("memory that the program does not have in every run")
    excused: set[Key] = set()
    for at_end in (False, True):
        for key in baseline.parts:
            comparable = key in candidate.parts and key not in excused
            extent = _differing_extent(baseline, candidate, key, at_end, ulps) if comparable else None
            if extent is None:
                continue
            if all(key in run.parts and _differing_extent(baseline, run, key, at_end, ulps) is None for run in again()):
                return _extent_difference(candidate, key, extent, after[1].buffers, at_end), names
            excused.add(key)
            part = baseline.parts[key]
            held = [buffer.name for buffer in before[1].buffers if part.address <= buffer.address < part.address + part.size]
            names += [] if any(name in unlike for name in held) else [part.name]
    return None, names


def _differing_extent(one: ProgramMemory, other: ProgramMemory, key: Key, at_end: bool, ulps: int) -> tuple[int, int] | None:
    """Where one part differs: (first address, number of bytes); None if it does not. If there is a tolerance, other kernels'
    results may be slightly off too, and a pool holds arbitrary bytes; in both cases, only what the dispatch writes is compared.
    """
    if not ulps and not one.parts[key].is_pool:
        return differing_extent(one, other, key, at_end)
    return newly_written_extent(one, other, key) if at_end else None


def _extent_difference(
    memory: ProgramMemory, key: Key, extent: tuple[int, int], buffers: Sequence[Buffer], at_end: bool
) -> Difference:
    address, count = extent
    where, section = location(address, buffers)
    when = "" if at_end else " (left by an earlier dispatch)"
    differ = f"{count} bytes differ, the first" if count > 1 else "1 byte differs,"
    reason = f"{differ} at {where}, in {memory.parts[key].name}{when}"
    return Difference(reason, section.model_copy(update={"differing_bytes": count}))


def _buffer_pairs(before: DispatchInProgram, after: DispatchInProgram) -> Iterator[tuple[str, Buffer, Buffer | None]]:
    return ((buffer.name, buffer, _buffer_named(after[1], buffer.name)) for buffer in before[1].buffers)


def _buffer_named(inputs: KernelInputs, name: str) -> Buffer | None:
    return next((buffer for buffer in inputs.buffers if buffer.name == name), None)


def _buffer_difference(
    before: Capture, buffer: Buffer, after: Capture, counterpart: Buffer | None, at_end: bool, ulps: int
) -> Difference | None:
    if counterpart is None or (buffer.layout, buffer.count) != (counterpart.layout, counterpart.count):
        return Difference(f"`{buffer.name}` differs in size or type")
    return buffer_difference(
        buffer, _bytes_without_pointers(before, buffer, at_end), _bytes_without_pointers(after, counterpart, at_end), ulps
    )


def _bytes_without_pointers(capture: Capture, buffer: Buffer, after: bool) -> Bytes:
    """The buffer's bytes with its pointers zeroed, since their values vary between processes."""
    content: Bytes = np.frombuffer(capture.memory(buffer.address, buffer.size, after=after), np.uint8).copy()
    for leaf in buffer.layout.leaves:
        if leaf.scalar is None:
            buffer.view(content, leaf)[...] = 0
    return content
