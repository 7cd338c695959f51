"""The search strategies by name, each with its options. To add a strategy, add a file to strategies/ and a line below.

This module does not import NumPy, because the command line needs it to build its options, before anything runs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StrategyOption:
    """A numeric option of one strategy. minimum is excluded if excludes_minimum is set. maximum: None for no limit."""

    name: str
    default: float
    help: str
    minimum: float
    maximum: float | None = None
    excludes_minimum: bool = False

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


@dataclass(frozen=True)
class RegisteredStrategy:
    """module: its name in the package strategies. name: the class. extra: the extra it requires; see rocm_perf_lab.extras."""

    module: str
    name: str
    options: tuple[StrategyOption, ...] = ()
    extra: str | None = None


STRATEGIES = {
    "sequential": RegisteredStrategy("sequential", "SequentialSearch"),
    "three-phase": RegisteredStrategy(
        "three_phase",
        "ThreePhaseSearch",
        (
            StrategyOption(
                "seed_fraction",
                0.2,
                "Share of the budget (of the space, if the budget is a time) for the first sample, at least 10 evaluations.",
                minimum=0,
                maximum=1,
                excludes_minimum=True,
            ),
            StrategyOption(
                "prune_factor",
                1.75,
                "Skip configurations that are predicted to be this many times slower than the best.",
                minimum=1,
            ),
        ),
        extra="autotune",
    ),
    "random": RegisteredStrategy("random", "RandomSearch"),
}


def defaults(strategy: str) -> dict[str, float]:
    """The strategy's own options: option -> default."""
    return {option.name: option.default for option in STRATEGIES[strategy].options}
