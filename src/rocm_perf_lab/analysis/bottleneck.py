"""Determines which limit holds a kernel back: five classes, each with a score, and how certain the verdict is.

    memory-bandwidth-bound       some level of the memory hierarchy is near its peak rate, or waves queue for it
    compute-throughput-limited   the same for a pipe, unless most of its lanes are masked off
    divergence-limited           most lanes are masked off in code that takes a considerable part of the time
    under-occupied               too few waves: registers or LDS keep them out, or the grid does not fill the device
    latency-bound                waves wait, although there are enough of them and no unit is near its peak

A saturated level or pipe explains a kernel's time whatever else is true, so the other classes hold only if none is saturated.
Divergence is the exception: it takes precedence over a saturated pipe if most of the pipe's lanes are masked off. If no other
class holds, waiting is put down to latency. The thresholds are in bottleneck.toml; fuzzy_score.py combines scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from rocm_perf_lab.analysis.bottleneck_thresholds import Factor, Signal, factors, signals
from rocm_perf_lab.analysis.evidence import Evidence
from rocm_perf_lab.analysis.fuzzy_score import HOLDS, Score
from rocm_perf_lab.arch.metric import Value

if TYPE_CHECKING:
    from rocm_perf_lab.analysis.time_stack_verdict import Remedy

# Ties between scores are broken in this order.
CLASSES = (
    "memory-bandwidth-bound",
    "compute-throughput-limited",
    "divergence-limited",
    "under-occupied",
    "latency-bound",
)
UNKNOWN = "unknown"
COUNTERS, EXPERIMENTS = "counters", "experiments"  # what a verdict is based on
NEAR = 0.1  # if no class holds, the nearest one is named with low certainty; below this score, none is near

LEVELS = ("hbm_fraction", "l2_fraction", "l1_fraction", "lds_busy_fraction")
PIPES = ("flop_fraction", "valu_busy_fraction", "mfma_busy_fraction")
READY_BUT_NOT_ISSUING = "issue_wait_fraction"
CHAIN_OF_LOADS = ("wait_cycles_per_memory_instruction", "memory_instructions_per_wave")
STAND_INS = ("memory_side", "grid_waves_per_simd")  # used if better numbers are missing

# The signals on which each class is based.
SIGNALS_OF = {
    "memory-bandwidth-bound": (*LEVELS, "busiest_level_fraction", READY_BUT_NOT_ISSUING),
    "compute-throughput-limited": (*PIPES, "busiest_pipe_fraction", READY_BUT_NOT_ISSUING),
    "divergence-limited": ("divergent_lane_fraction", "valu_matters"),
    "under-occupied": ("mean_waves_per_simd", "grid_waves_per_simd", "resident_waves_per_simd", "rounds_of_waves"),
    "latency-bound": ("wait_fraction", "memory_side", *CHAIN_OF_LOADS),
}

ScoreBySignal = Mapping[str, Score]  # the signal that points to a class -> its strength


@dataclass(frozen=True)
class ClassScore:
    """ways: for each signal that can point to the class, its strength. seen: the signals that do, strongest first."""

    name: str
    score: Score
    ways: ScoreBySignal

    @property
    def seen(self) -> tuple[Signal, ...]:
        held = {name: score.estimate for name, score in self.ways.items() if score.estimate is not None and score.holds}
        return tuple(signals()[name] for name in sorted(held, key=lambda name: -held[name]))

    @property
    def signals(self) -> tuple[Signal, ...]:
        return tuple(signals()[name] for name in SIGNALS_OF[self.name])


@dataclass(frozen=True)
class Bottleneck:
    """name: the strongest class that holds; if none does, the nearest one, or 'unknown' if none is near; `why` tells which
    case it is. classes: all five, strongest first, unknown scores last.

    confidence: 0 to 1, from the share of signals that are known and the lead of the first class over the next.
    certainty: 'high' if confidence is high enough and no missing number could change the verdict, else 'medium' or 'low'.
    undecided: for each class that could still hold if missing numbers were known, which numbers are missing.
    by: what the verdict is based on, counters or experiments. With experiments, name is a cause from causes.toml, score its
    share of the time, and confidence its lead over the next cause; classes still come from the counters, but the verdict does
    not depend on them (see time_stack_verdict). remedies: only with experiments. on_full_device: if the verdict is a small
    grid, the verdict for a grid that fills the device.
    """

    name: str
    why: str
    score: float | None
    confidence: float
    certainty: str
    classes: tuple[ClassScore, ...]
    factors: tuple[Factor, ...]
    undecided: dict[str, str]
    advice: tuple[str, ...]
    near: Signal | None = None  # the signal because of which the class was named even though it does not hold
    by: str = COUNTERS
    remedies: tuple[Remedy, ...] = ()
    on_full_device: str | None = None

    @property
    def shown_by(self) -> tuple[Signal, ...]:
        """The signals that point to the class, strongest first; () if no class is named or experiments gave the verdict."""
        if self.name == UNKNOWN or self.by == EXPERIMENTS:
            return ()
        return (self.near,) if self.near is not None else self.classes[0].seen


def classify(evidence: Evidence) -> Bottleneck:
    """The bottleneck that the evidence supports. Missing numbers are left out of the estimates but widen the bounds."""
    scores = {name: signal.score(evidence) for name, signal in signals().items()}
    classes = tuple(sorted(_classes(scores), key=_strongest_first))
    first, second = classes[:2]
    explains = tuple(factor for factor in factors() if factor.holds(evidence))
    undecided = {c.name: _lacking(c, evidence) for c in classes if c.score.lower < HOLDS <= c.score.upper}
    confidence = _coverage(scores) * (1 + _lead(first, second)) / 2
    if not first.score.holds:
        return _none_holds(classes, scores, confidence, explains, undecided)
    settled = first.score.lower >= HOLDS and all(_outranks(first, other) for other in classes[1:])
    undecided.pop(first.name, None)
    return Bottleneck(
        name=first.name,
        why="; ".join(signal.why for signal in first.seen),
        score=first.score.estimate,
        confidence=confidence,
        certainty=_certainty(confidence, settled),
        classes=classes,
        factors=explains,
        undecided=undecided,
        advice=_advice(explains, first.seen),
    )


def _none_holds(
    classes: tuple[ClassScore, ...],
    scores: Mapping[str, Score],
    confidence: float,
    explains: tuple[Factor, ...],
    undecided: dict[str, str],
) -> Bottleneck:
    """The verdict if no class holds: the nearest class, or unknown if none is near."""
    name, signal, score = _nearest(classes, scores)
    if score >= NEAR:
        why = f"no limit is reached; the nearest is {signal.name}, with a score of {score:.2f} of {HOLDS}"
        advice = _advice(explains, (signal,))
        return Bottleneck(name, why, score, confidence, "low", classes, explains, undecided, advice, signal)
    settled = all(scored.score.upper < NEAR for scored in classes)
    return Bottleneck(
        UNKNOWN,
        _why_unknown(classes[0], undecided),
        None,
        confidence,
        _certainty(confidence, settled),
        classes,
        explains,
        undecided,
        _advice(explains, ()),
    )


def _nearest(classes: tuple[ClassScore, ...], scores: Mapping[str, Score]) -> tuple[str, Signal, float]:
    """The nearest class, its strongest signal whose number is known, and its score; ties go to the first class."""
    ways = [
        (way.estimate or 0.0, -CLASSES.index(scored.name), scored.name, name)
        for scored in classes
        for name, way in scored.ways.items()
        if scores[name].estimate is not None
    ]
    score, _, name, signal = max(ways, default=(0.0, 0, classes[0].name, next(iter(classes[0].ways))))
    return name, signals()[signal], score


def _classes(s: Mapping[str, Score]) -> list[ClassScore]:
    memory = {name: s[name] for name in LEVELS} | {
        "busiest_level_fraction": s["busiest_level_fraction"] & s[READY_BUT_NOT_ISSUING]
    }
    compute = {name: s[name] for name in PIPES} | {
        "busiest_pipe_fraction": s["busiest_pipe_fraction"] & s[READY_BUT_NOT_ISSUING]
    }
    levels, pipes = reduce(or_, memory.values()), reduce(or_, compute.values())
    waits = s["wait_fraction"]
    masked = s["divergent_lane_fraction"] & s["valu_matters"]
    divergence = masked.unless(levels)
    saturated = levels | pipes
    chain = reduce(lambda a, b: a & s[b], CHAIN_OF_LOADS, waits)
    busy = saturated | divergence
    empty = s["mean_waves_per_simd"].otherwise(s["grid_waves_per_simd"]).unless(chain).unless(busy)
    kept_out = (s["resident_waves_per_simd"] & s["rounds_of_waves"]).provided(waits).unless(busy)
    latency = waits.otherwise(s["memory_side"]).unless(busy | empty | kept_out)
    counted = s["mean_waves_per_simd"].estimate is not None
    ways: dict[str, ScoreBySignal] = {
        "memory-bandwidth-bound": memory,
        "compute-throughput-limited": {name: score.unless(masked) for name, score in compute.items()},
        "divergence-limited": {"divergent_lane_fraction": divergence},
        "under-occupied": {
            "mean_waves_per_simd" if counted else "grid_waves_per_simd": empty,
            "resident_waves_per_simd": kept_out,
        },
        "latency-bound": {
            "wait_fraction" if waits.estimate is not None else "memory_side": latency,
            CHAIN_OF_LOADS[0]: latency & chain,
        },
    }
    return [ClassScore(name, reduce(or_, ways[name].values()), ways[name]) for name in CLASSES]


def _strongest_first(scored: ClassScore) -> tuple[float, int]:
    estimate = scored.score.estimate
    return (1.0 if estimate is None else -estimate, CLASSES.index(scored.name))


def _outranks(first: ClassScore, other: ClassScore) -> bool:
    """Whether `first` ranks ahead of `other`, whatever the missing numbers turn out to be."""
    if first.score.lower == other.score.upper:
        return CLASSES.index(first.name) < CLASSES.index(other.name)
    return first.score.lower > other.score.upper


def _lead(first: ClassScore, second: ClassScore) -> float:
    """How far the best class leads the next one or, if no class holds, how far the best class is from holding; 0 to 1."""
    best = first.score.estimate or 0.0
    return best - (second.score.estimate or 0.0) if first.score.holds else 2 * (HOLDS - best)


def _coverage(scores: Mapping[str, Score]) -> float:
    counted = [score for name, score in scores.items() if name not in STAND_INS]
    return sum(score.estimate is not None for score in counted) / len(counted)


def _certainty(confidence: float, settled: bool) -> str:
    if confidence >= 0.55 and settled:
        return "high"
    return "medium" if confidence >= 0.4 else "low"


def _why_unknown(nearest: ClassScore, undecided: Mapping[str, str]) -> str:
    if undecided:
        return f"the evidence does not decide: {', '.join(undecided)} could not be judged"
    return f"no limit is reached; nearest is {nearest.name} with a score of {nearest.score.estimate or 0:.2f} of {HOLDS}"


def _advice(explains: tuple[Factor, ...], seen: tuple[Signal, ...]) -> tuple[str, ...]:
    """What to try, most specific first: factors name causes, whereas a class names only a symptom."""
    parts: tuple[Factor | Signal, ...] = (*explains, *seen)
    return tuple(dict.fromkeys(line for part in parts for line in part.advice))


def _lacking(scored: ClassScore, evidence: Evidence) -> str:
    names = dict.fromkeys(signal.evidence for signal in scored.signals)
    values = [evidence.values[name] for name in names if name in evidence.values]
    absent = [name for name in names if name not in evidence.values]
    reason = Value.missing_because("", values).reason
    return reason or (f"no {', '.join(absent)}" if absent else "other classes come first, and could not be judged")
