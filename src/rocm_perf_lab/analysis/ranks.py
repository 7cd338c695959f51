"""Which of several databases is what: ranks of a parallel program, repeated runs, counter passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rocm_perf_lab.rocpd.origin import Origin


@dataclass
class Rank:
    """One process of the program. base: the run that times come from; repeats and counters: other runs of the same process."""

    base: Origin
    repeats: list[Origin] = field(default_factory=list)
    counters: list[Origin] = field(default_factory=list)

    @property
    def number(self) -> int | None:
        return self.base.rank

    def absolute(self) -> Rank:
        """With absolute paths, for processes in other folders."""
        repeats, counters = ([origin.absolute() for origin in group] for group in (self.repeats, self.counters))
        return Rank(self.base.absolute(), repeats, counters)


def ranks(origins: Sequence[Origin]) -> tuple[list[Rank], list[str]]:
    """The ranks, in order of their numbers or else of the databases, and what had to be assumed.

    Runs without counters give times. Two of them are different ranks if their environments say so, if they ran on different
    machines, at the same time, or different commands; else the later one repeats the earlier. Runs with counters are passes
    of the rank with their number or, if there is none, of the first rank that ran the same command and has not got a pass
    that ran at that time. Where no run is without counters, the first one of each rank gives the times.
    """
    found: list[Rank] = []
    notes: list[str] = []
    for origin in (origin for origin in origins if not origin.has_counters):
        same = next((rank for rank in found if _is_repeat(rank, origin)), None)
        if same is None:
            found.append(Rank(origin))
        else:
            same.repeats.append(origin)
    for origin in (origin for origin in origins if origin.has_counters):
        same = next((rank for rank in found if _is_pass(rank, origin)), None)
        if same is None:
            found.append(Rank(origin))
            notes.append(
                f"{origin.path} was collected with counters, and no run without: its times are those of a profiled run"
            )
        else:
            same.counters.append(origin)
    if all(rank.number is not None for rank in found):
        found.sort(key=lambda rank: rank.number)
    return found, notes


def _is_repeat(rank: Rank, origin: Origin) -> bool:
    if rank.number is not None or origin.rank is not None:
        return rank.number == origin.rank and rank.base.command == origin.command
    return _same_program(rank.base, origin) and not any(run.overlaps(origin) for run in [rank.base, *rank.repeats])


def _is_pass(rank: Rank, origin: Origin) -> bool:
    if rank.number is not None and origin.rank is not None:
        return rank.number == origin.rank
    return _same_program(rank.base, origin) and not any(run.overlaps(origin) for run in rank.counters)


def _same_program(one: Origin, other: Origin) -> bool:
    return (one.host, one.command) == (other.host, other.command)
