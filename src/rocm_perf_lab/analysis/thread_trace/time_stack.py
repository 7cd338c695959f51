"""A breakdown of a dispatch's time into what each cause costs, determined by experiments on the software device.

For each set of the causes that matter, the device re-times the recording of a dispatch without that set (causes.json, see
native/device/timing/cause_experiment.h). How much of the time belongs to a cause depends on which causes have been removed
before it, so each cause is assigned its Shapley value. The values sum to the time that all the causes cost together.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from rocm_perf_lab.analysis.shapley import MAX_EXACT_CAUSES, shapley
from rocm_perf_lab.analysis.thread_trace.parse import UnreadableFileError, load
from rocm_perf_lab.toml import tomllib

FILE = "causes.json"
_VERSION = 1


@dataclass(frozen=True)
class CauseMeaning:
    """An entry of causes.toml; the comment at the top of that file explains the fields."""

    name: str
    spent_on: str
    without: str
    change: str
    source: str
    is_work: bool = False
    changes_launch: bool = False


@dataclass(frozen=True)
class TimePart:
    """The part of a dispatch's time that is attributed to a cause. first_ns, last_ns: the gain from removing the cause before
    all others, and after all others.
    """

    cause: str
    ns: float
    first_ns: int
    last_ns: int


@dataclass(frozen=True)
class InstructionGain:
    """gain_ns: by how much the dispatch would be shorter if this instruction's accesses took no time. source: "" if unknown."""

    text: str
    source: str
    code_object: int
    vaddr: int
    gain_ns: int


@dataclass(frozen=True)
class LineGain:
    """gain_ns: by how much the dispatch would be shorter if the instructions of this source line ("file:line") took no time.
    by_cause: cause -> the gain if only that cause is removed from these instructions; empty for all but the few lines with the
    most to gain.
    """

    source: str
    gain_ns: int
    by_cause: dict[str, int]


@dataclass(frozen=True)
class TimeStack:
    """parts, largest first, and rest_ns sum to duration_ns. rest_ns: the time left once all of the parts' causes are removed.

    without_ns: cause -> the time if only that cause is removed, including causes that are not among the parts. lines: those
    with the most to gain first; empty if source lines are not known. chosen, subset_ns: the parts' causes, and the time without
    each set of them; bit i of the index stands for the i-th cause.
    """

    duration_ns: int
    parts: tuple[TimePart, ...]
    rest_ns: int
    without_ns: dict[str, int]
    instructions: tuple[InstructionGain, ...]
    lines: tuple[LineGain, ...] = ()
    chosen: tuple[str, ...] = ()
    subset_ns: tuple[int, ...] = ()

    def without(self, causes: Container[str]) -> int:
        """The time without any of these causes; causes that are not among the parts make no difference."""
        removed = sum(1 << i for i, name in enumerate(self.chosen) if name in causes)
        return self.subset_ns[removed] if self.subset_ns else self.duration_ns

    def shares_without(self, cause: str) -> dict[str, float]:
        """The parts of the other causes once this one is removed, as shares of the time that is then left, largest first."""
        other_causes = [name for name in self.chosen if name != cause]
        sets = ({cause} | {name for i, name in enumerate(other_causes) if n >> i & 1} for n in range(1 << len(other_causes)))
        times = [self.without(removed) for removed in sets]
        parts = zip(other_causes, shapley(times), strict=True)
        return dict(sorted(((name, float(ns) / times[0]) for name, ns in parts), key=lambda item: -item[1]))


@cache
def meanings() -> dict[str, CauseMeaning]:
    """The meaning of each cause, in the order of causes.toml."""
    text = (files(__package__) / "causes.toml").read_text("utf-8")
    return {name: CauseMeaning(name, **entry) for name, entry in tomllib.loads(text).items()}


def read(folder: Path) -> TimeStack:
    """The stack of the thread trace in `folder`. Raises UnreadableFileError if there is none, or if it is damaged."""
    path = folder / FILE
    if not path.exists():
        raise UnreadableFileError("only the software device can time a dispatch without a cause, and it wrote no such times")
    document = load(path)
    try:
        return _stack(path, document)
    except (KeyError, TypeError, AttributeError) as error:
        raise UnreadableFileError(f"{path.name} is incomplete ({error})") from error


def _stack(path: Path, document: dict[str, Any]) -> TimeStack:
    if document["version"] != _VERSION:
        raise UnreadableFileError(f"{path.name} has version {document['version']}; this program reads version {_VERSION}")
    duration, chosen, times = _whole_number(path, document["duration_ns"]), document["chosen"], document["subset_ns"]
    times = [_whole_number(path, time) for time in times]
    if len(chosen) > MAX_EXACT_CAUSES or len(times) != 1 << len(chosen) or times[0] != duration:
        raise UnreadableFileError(f"{path.name} does not have a time for every set of its {len(chosen)} causes")
    if not set(chosen) <= set(document["causes"]):
        raise UnreadableFileError(f"{path.name} names a cause that it does not describe")
    all_causes = len(times) - 1
    parts = [
        TimePart(name, float(value), duration - times[1 << i], times[all_causes & ~(1 << i)] - times[all_causes])
        for i, (name, value) in enumerate(zip(chosen, shapley(times), strict=True))
    ]
    instructions = [
        InstructionGain(
            str(instruction["text"]), str(instruction["source"]), _whole_number(path, instruction["code_object"]),
            _whole_number(path, instruction["vaddr"]),
            duration - _whole_number(path, instruction["without_ns"]),
        )
        for instruction in document["instructions"]
    ]  # fmt: skip
    return TimeStack(
        duration_ns=duration,
        parts=tuple(sorted(parts, key=lambda part: (-part.ns, part.cause))),
        rest_ns=times[-1],
        without_ns={name: _whole_number(path, meaning["without_ns"]) for name, meaning in document["causes"].items()},
        instructions=tuple(
            sorted(instructions, key=lambda instruction: (-instruction.gain_ns, instruction.code_object, instruction.vaddr))
        ),
        lines=tuple(_line(path, line, duration) for line in document.get("lines", [])),
        chosen=tuple(chosen),
        subset_ns=tuple(times),
    )


def _line(path: Path, line: dict[str, Any], duration: int) -> LineGain:
    by_cause = {name: duration - _whole_number(path, time) for name, time in line["without_cause_ns"].items()}
    return LineGain(str(line["source"]), duration - _whole_number(path, line["without_ns"]), by_cause)


def _whole_number(path: Path, number: object) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise UnreadableFileError(f"{path.name} has {number!r} where a whole number belongs")
    return number
