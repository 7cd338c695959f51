"""Determines what each of several databases is: a rank of a parallel program, a repeated run or a counter pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.rocpd.recorded_process import RecordedProcess
from rocm_perf_lab.rocpd.same_build import difference, other_build

_SAME_RANK = "both are the same rank, on different machines or at the same time"


@dataclass(frozen=True)
class Rank:
    """One process of the program. base: the run that provides its times. repeats, counters: other runs of the same process."""

    base: RecordedProcess
    repeats: list[RecordedProcess] = field(default_factory=list)
    counters: list[RecordedProcess] = field(default_factory=list)

    @property
    def number(self) -> int | None:
        return self.base.rank

    def absolute(self) -> Rank:
        """A copy with absolute paths, for processes that run in other folders."""
        repeats, counters = ([process.absolute() for process in group] for group in (self.repeats, self.counters))
        return Rank(self.base.absolute(), repeats, counters)


def ranks(processes: Sequence[RecordedProcess]) -> tuple[list[Rank], list[str]]:
    """The ranks, in the order of their numbers or, failing that, of the databases, and notes on what had to be assumed.

    Runs without counters provide times. Two of them are different ranks if their environments say so, or if they ran on
    different machines or at the same time; otherwise the later one repeats the earlier. A run with counters is a pass of the
    rank that has the same number; without a number, it is a pass of the first rank that ran the same command on the same
    machine and has no other pass from the same time. If all runs have counters, the first run of each rank provides the times.

    Raises UsageError for runs that are neither ranks nor repeats, such as runs with different commands, builds or inputs at
    different times.
    """
    known: list[Rank] = []
    notes: list[str] = []
    for process in (one for one in processes if not one.has_counters):
        same = next((rank for rank in known if _is_repeat(rank, process)), None)
        if same is None:
            known.append(Rank(process))
        else:
            same.repeats.append(process)
    for process in (one for one in processes if one.has_counters):
        same = next((rank for rank in known if _is_pass(rank, process)), None)
        if same is None:
            known.append(Rank(process))
            notes.append(
                f"{process.label} was collected with counters, and there is no run without them: its times are those of a "
                "profiled run"
            )
        else:
            same.counters.append(process)
    for one, other in combinations(known, 2):
        _check_ranks(one.base, other.base)
    if all(rank.number is not None for rank in known):
        known.sort(key=lambda rank: rank.number or 0)
    return known, notes


def _is_repeat(rank: Rank, process: RecordedProcess) -> bool:
    if rank.number is not None or process.rank is not None:
        return rank.number == process.rank and _same_program(rank.base, process)
    return (
        rank.base.is_on_machine_of(process)
        and _same_program(rank.base, process)
        and not any(run.overlaps(process) for run in [rank.base, *rank.repeats])
    )


def _is_pass(rank: Rank, process: RecordedProcess) -> bool:
    """A pass may cover only some of the kernels."""
    if rank.number is not None and process.rank is not None:
        return rank.number == process.rank and other_build(rank.base, process) is None
    same = rank.base.command == process.command and other_build(rank.base, process) is None
    return rank.base.is_on_machine_of(process) and same and not any(run.overlaps(process) for run in rank.counters)


def _same_program(one: RecordedProcess, other: RecordedProcess) -> bool:
    return one.command == other.command and difference(one, other) is None


def _check_ranks(one: RecordedProcess, other: RecordedProcess) -> None:
    """Raises UsageError unless the two are ranks of one run: their launcher gave them different numbers, they ran at the same
    time, or they are the same build on different machines.
    """
    if one.rank is not None and other.rank is not None and one.rank != other.rank:
        return
    no_order = not one.is_on_machine_of(other) or None in (one.span, other.span)
    elsewhere = no_order and one.command == other.command and other_build(one, other) is None
    if (one.overlaps(other) or elsewhere) and (one.rank is None or other.rank is None):
        return
    commands = f"one is of {one.command}, the other of {other.command}" if one.command != other.command else None
    raise UsageError(
        f"{one.label} and {other.label} are neither repeats nor ranks of one run: "
        f"{commands or difference(one, other) or _SAME_RANK}",
        "analyse each separately: `rocm-perf analyze` with only that database",
    )
