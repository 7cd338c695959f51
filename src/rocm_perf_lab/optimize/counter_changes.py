"""Explains why the time changed, using the counters for loads, waits and instructions that changed most."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rocm_perf_lab.analysis.counters_behind_changes import EXPLANATORY

_CYCLES = ("SQ_WAVE_CYCLES", "SQ_WAIT_ANY", "SQ_WAIT_INST_ANY")
_LESS_TO_WAIT_FOR = {
    "TCC_EA0_RDREQ_sum": "reads beyond L2",
    "SQ_LDS_BANK_CONFLICT": "cycles of LDS bank conflicts",
    "SQ_INSTS_LDS": "LDS instructions",
}
_MIN_CHANGE = 0.01  # smaller changes are ignored
_MAIN_SHARE = 0.5  # fraction of the saved cycles; if waits account for less, they are not the reason


@dataclass(frozen=True)
class CounterChange:
    """One counter before and after. change: the relative change; None if the counter was 0."""

    counter: str
    meaning: str
    before: float
    after: float

    @property
    def change(self) -> float | None:
        return (self.after - self.before) / self.before if self.before else None


def telling_changes(counters: Mapping[str, Sequence[float]], limit: int = 8) -> list[CounterChange]:
    """Select the counters that explain a change in time.

    counters: name -> (before, after) of one kernel. Returns the wave-cycle counters first, then those with the largest relative
    changes.
    """
    telling = [CounterChange(name, EXPLANATORY[name], *pair) for name, pair in counters.items() if name in EXPLANATORY]
    return sorted(telling, key=_rank)[:limit]


def _rank(movement: CounterChange) -> tuple[int, float, str]:
    rank = _CYCLES.index(movement.counter) if movement.counter in _CYCLES else len(_CYCLES)
    return rank, -abs(movement.change if movement.change is not None else float("inf")), movement.counter


def explanation(counters: Mapping[str, Sequence[float]], unmoved: Collection[str] = ()) -> str:
    """Explain the change in time: first where the waves' cycles went, then which counters account for that.

    counters: name -> (before, after), for counters that changed. unmoved: names of counters that were collected and did not
    change.
    """
    account = _WaveCycleChanges.of(counters)
    if account is None:
        return "no counter shows where the time went: the waves' cycles changed by less than 1 % or were not collected"
    parts = [account.in_words]
    if account.waits < 0 and -account.waits >= _MAIN_SHARE * -account.cycles:
        parts.append(_why_less_waiting(_RelativeChanges(counters, unmoved)))
    elif (instructions := _RelativeChanges(counters, unmoved)["SQ_INSTS"]) is not None and abs(instructions) >= _MIN_CHANGE:
        parts.append(f"{_more_or_fewer(instructions)} instructions are executed (SQ_INSTS)")
    return "; ".join(parts)


@dataclass(frozen=True)
class _WaveCycleChanges:
    """Changes as fractions of the baseline's wave cycles; `cycles` is the sum of the other three.

    A wave spends its cycles waiting for memory or barriers, waiting for a turn to issue, or executing (ROCm Compute Profiler
    documentation, "Wavefront runtime stats").
    """

    cycles: float
    waits: float
    turns: float
    executing: float

    @classmethod
    def of(cls, counters: Mapping[str, Sequence[float]]) -> _WaveCycleChanges | None:
        if "SQ_WAVE_CYCLES" not in counters or "SQ_WAIT_ANY" not in counters:
            return None
        total = counters["SQ_WAVE_CYCLES"][0]
        cycles, waits, turns = (
            (after - before) / total if total else 0.0 for before, after in (counters.get(name, (0, 0)) for name in _CYCLES)
        )
        return cls(cycles, waits, turns, cycles - waits - turns) if abs(cycles) >= _MIN_CHANGE else None

    @property
    def in_words(self) -> str:
        parts = (
            (self.waits, "waiting (SQ_WAIT_ANY)"),
            (self.turns, "waiting to issue (SQ_WAIT_INST_ANY)"),
            (self.executing, "executing"),
        )
        shares = ", ".join(f"{share:+.1%} {activity}" for share, activity in parts if abs(share) >= _MIN_CHANGE / 2)
        return f"{_more_or_fewer(self.cycles)} cycles of waves (SQ_WAVE_CYCLES): {shares}"


@dataclass(frozen=True)
class _RelativeChanges:
    """Counter name -> relative change: 0 if the counter was collected and did not change, None if it was not collected or was 0
    before.
    """

    counters: Mapping[str, Sequence[float]]
    unmoved: Collection[str]

    def __getitem__(self, name: str) -> float | None:
        if name in self.counters:
            before, after = self.counters[name]
            return (after - before) / before if before else None
        return 0.0 if name in self.unmoved else None

    def fall(self, name: str) -> float | None:
        """The relative decrease; None if the counter did not fall noticeably."""
        change = self[name]
        return -change if change is not None and change <= -_MIN_CHANGE else None


def _why_less_waiting(changes: _RelativeChanges) -> str:
    loads, causes = changes["SQ_INSTS_VMEM_RD"], []
    if fall := changes.fall("SQ_INSTS_VMEM_RD"):
        causes.append(f"{fall:.0%} fewer vector loads (SQ_INSTS_VMEM_RD) cause waits{_data_in_words(changes)}")
    for name, events in _LESS_TO_WAIT_FOR.items():
        if fall := changes.fall(name):
            causes.append(f"{fall:.0%} fewer {events} ({name})")
    if not causes and loads is not None and abs(loads) < _MIN_CHANGE:
        causes.append(_overlap(changes))
    return "; ".join(causes) or "the counters do not show what the waves waited for"


def _data_in_words(changes: _RelativeChanges) -> str:
    lines = changes["TCP_TCC_READ_REQ_sum"]
    if lines is None:
        return ""
    return f", for {'the same' if abs(lines) < _MIN_CHANGE else _more_or_fewer(lines)} lines from L2 (TCP_TCC_READ_REQ_sum)"


def _overlap(changes: _RelativeChanges) -> str:
    """Why the same loads cause less waiting: more of them are in flight at once, unless each takes less time."""
    level, reads = changes["TCC_EA0_RDREQ_LEVEL_sum"], changes["TCC_EA0_RDREQ_sum"]
    same = "the vector loads are the same (SQ_INSTS_VMEM_RD)"
    if level is None or reads is None:
        return f"{same}: either more are in flight at once, or each takes less time"
    latency = (1 + level) / (1 + reads) - 1
    read_time = f"a read beyond L2 takes {'as long as before' if abs(latency) < _MIN_CHANGE else _longer_or_shorter(latency)}"
    source = "TCC_EA0_RDREQ_LEVEL_sum over TCC_EA0_RDREQ_sum"
    waits = changes["SQ_WAIT_ANY"]
    if waits is not None and latency <= waits / 2:
        return f"{same}, but {read_time} ({source})"
    return f"{same} and {read_time} ({source}): more of them are in flight at once"


def _longer_or_shorter(change: float) -> str:
    return f"{abs(change):.1%} {'longer' if change > 0 else 'less time'}"


def _more_or_fewer(change: float) -> str:
    return f"{abs(change):.1%} {'fewer' if change < 0 else 'more'}"
