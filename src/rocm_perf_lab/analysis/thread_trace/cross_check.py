"""Cross-checks a trace, which records the same figures three times: per wave, summed in code.json, and again in the CSV.

For every instruction, over all waves: hits is the number of records, latency and stall are sums over the records, and idle is
the sum of the times between the end of the preceding instructions (initially, the wave's start) and the record's time. The
preceding instructions count as ended once all of the wave's earlier records have ended. A record on line 0 is one that the
decoder could not place; it is ignored. A record on a line that code.json lacks is not counted for any instruction, but the time
that it takes still counts. (These are the rules that get_trace_data in rocprofiler-sdk's att-tool follows; they hold for every
instruction of the recorded MI300X trace.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.analysis.thread_trace.tables import TracedCode, Wave

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers


def rows_of(code: TracedCode, wave: Wave) -> Integers:
    """For each record, its row in `code`, or -1."""
    if not len(code):
        return np.full(len(wave.records), -1)
    row = np.searchsorted(code.line, wave.line).clip(max=len(code) - 1)
    return np.where(code.line[row] == wave.line, row, -1)


def idle_of(wave: Wave) -> Integers:
    """For each record, the cycles between the end of the preceding instructions and the record's time."""
    idle = np.zeros(len(wave.records), np.int64)
    placed = wave.line != 0
    time, latency = wave.time[placed], wave.latency[placed]
    ended = np.maximum.accumulate(np.concatenate(([wave.begin], time + latency)))[:-1]
    idle[placed] = np.maximum(time - ended, 0)
    return idle


def per_instruction(code: TracedCode, waves: Sequence[Wave]) -> dict[str, Integers]:
    """hits, latency, stall and idle of every row of `code`, computed from the waves' records."""
    sums: dict[str, Integers] = {name: np.zeros(len(code), np.int64) for name in TracedCode.SUMS}
    for wave in waves:
        row = rows_of(code, wave)
        known = row >= 0
        of_record = {"hits": np.ones(len(row), np.int64), "latency": wave.latency, "stall": wave.stall, "idle": idle_of(wave)}
        for name, values in of_record.items():
            np.add.at(sums[name], row[known], values[known])
    return sums


def difference(one: str, a: TracedCode, other: str, b: TracedCode | dict[str, Integers]) -> str | None:
    """Describe the first instruction on which two sources disagree; None if they agree on all."""
    sums = b if isinstance(b, dict) else {name: getattr(b, name) for name in TracedCode.SUMS}
    if len(a) != len(sums["hits"]):
        return f"{one} has {len(a)} instructions, {other} {len(sums['hits'])}"
    for name in TracedCode.SUMS:
        column = getattr(a, name)
        wrong = np.flatnonzero(column != sums[name])
        if len(wrong):
            row = int(wrong[0])
            return (
                f"{one} and {other} disagree: {name} of `{a.text[row][:60]}` at {int(a.vaddr[row]):#x} is "
                f"{int(column[row])} in one and {int(sums[name][row])} in the other"
            )
    return None


def unlike(one: str, a: TracedCode, other: str, b: TracedCode) -> str | None:
    """Describe the first row at which two listings of equal length have different instructions; None if there is none."""
    for row, (instruction_a, instruction_b) in enumerate(zip(_instructions(a), _instructions(b), strict=True)):
        if instruction_a != instruction_b:
            return f"{one} and {other} disagree: `{a.text[row][:60]}` at {int(a.vaddr[row]):#x} is in one only"
    return None


def _instructions(code: TracedCode) -> Iterator[tuple[int, int, str, str]]:
    return zip(code.code_object.tolist(), code.vaddr.tolist(), code.text, code.source, strict=True)
