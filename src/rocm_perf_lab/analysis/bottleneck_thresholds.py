"""The thresholds from bottleneck.toml by which bottlenecks are judged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from rocm_perf_lab.analysis.evidence import Evidence
from rocm_perf_lab.analysis.fuzzy_score import UNKNOWN, Score, strength
from rocm_perf_lab.toml import tomllib

# Advice given for a small grid on the software device.
LARGER = "if the problem was made small for the software device, judge a larger one first"


@dataclass(frozen=True)
class Signal:
    """One number of the evidence compared with a threshold; see the top of bottleneck.toml."""

    name: str
    evidence: str
    none: float
    threshold: float
    full: float
    why: str
    advice: tuple[str, ...]
    source: str
    rationale: str
    changes_launch: bool = False

    @property
    def direction(self) -> str:
        return "at least" if self.none < self.full else "at most"

    def score(self, evidence: Evidence) -> Score:
        number = evidence.number(self.evidence)
        return UNKNOWN if number is None else Score.known(strength(number, self.none, self.threshold, self.full))


@dataclass(frozen=True)
class Factor:
    """A condition that explains or aggravates a bottleneck: a number above or below one threshold. causes: the parts of a time
    stack in which it appears; empty if there are no such parts.
    """

    name: str
    evidence: str
    above: float | None
    below: float | None
    why: str
    advice: tuple[str, ...]
    source: str
    causes: tuple[str, ...] = ()
    changes_launch: bool = False

    def holds(self, evidence: Evidence) -> bool:
        number = evidence.number(self.evidence)
        if number is None:
            return False
        if self.above is not None:
            return number > self.above
        return self.below is not None and number < self.below


@dataclass(frozen=True)
class ClassMeaning:
    """The meaning of a class, for users. applies: when the class applies, in words."""

    name: str
    meaning: str
    applies: str


@cache
def meanings() -> dict[str, ClassMeaning]:
    """The meanings of the classes, by name."""
    return {name: ClassMeaning(name, **entry) for name, entry in _table()["class"].items()}


@cache
def signals() -> dict[str, Signal]:
    """The signals by name, in the order of bottleneck.toml."""
    return {
        name: Signal(name, **{"evidence": name, **entry, "advice": tuple(entry["advice"])})
        for name, entry in _table()["signal"].items()
    }


@cache
def factors() -> tuple[Factor, ...]:
    limits = {"above": None, "below": None}
    return tuple(
        Factor(name, **{**limits, **entry, "advice": tuple(entry["advice"]), "causes": tuple(entry.get("causes", ()))})
        for name, entry in _table()["factor"].items()
    )


def launch_advice() -> frozenset[str]:
    """Advice that requires changing the program's launches, not just a kernel's code."""
    entries: tuple[Signal | Factor, ...] = (*signals().values(), *factors())
    return frozenset(line for entry in entries if entry.changes_launch for line in entry.advice)


def _table() -> dict[str, dict[str, dict[str, Any]]]:
    """The fields of each entry, keyed by its kind ("class", "signal" or "factor") and then by its name."""
    return tomllib.loads(files("rocm_perf_lab.analysis").joinpath("bottleneck.toml").read_text("utf-8"))
