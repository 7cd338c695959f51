"""The table of hardware counters: what each counts, in which unit, and where it is available."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from rocm_perf_lab.arch.families import FAMILIES
from rocm_perf_lab.toml import tomllib

SOFTWARE_TARGET = "gfx942"
SOFTWARE_TARGETS = (SOFTWARE_TARGET, "gfx90a", "gfx1030", "gfx950")


@dataclass(frozen=True)
class Counter:
    """model: how the software device computes the value; why: the reason if it does not offer the counter.

    events: the counter's event number on each target on which rocprofv3 offers it. block: the hardware block, which is the
    first part of the name.
    """

    name: str
    unit: str
    meaning: str
    events: Mapping[str, int]
    model: str | None = None
    why: str | None = None

    @property
    def hardware(self) -> tuple[str, ...]:
        """The targets on which rocprofv3 offers the counter."""
        return tuple(self.events)

    @property
    def block(self) -> str:
        return self.name.partition("_")[0]

    @property
    def on_device(self) -> bool:
        return any(map(self.on_software, SOFTWARE_TARGETS))

    def on_software(self, target: str) -> bool:
        """Whether the software device provides the counter when it simulates that target. A counter that no hardware has is
        available on every target.
        """
        return self.model is not None and (not self.hardware or target in self.hardware)


@cache
def known_counters() -> tuple[Counter, ...]:
    """Every counter in counters.toml, in file order. The native device is built from the same file."""
    text = resources.files("rocm_perf_lab.arch").joinpath("counters.toml").read_text()
    return tuple(
        Counter(name, entry["unit"], entry["meaning"], entry["hardware"], entry.get("model"), entry.get("why"))
        for name, entry in tomllib.loads(text).items()
    )


@cache
def uses() -> dict[str, tuple[str, ...]]:
    """Counter -> "family: metric" for every formula that needs it."""
    by_counter: dict[str, list[str]] = {}
    for family in FAMILIES:
        groups = (family.flops, family.integer_operations, family.cache_bytes, family.evidence)
        metrics = [*family.hbm_bytes, *(metric for group in groups for metric in group.values())]
        for metric in metrics:
            for counter in metric.counters:
                use = f"{family.name}: {metric.name}"
                if use not in by_counter.setdefault(counter, []):
                    by_counter[counter].append(use)
    return {counter: tuple(names) for counter, names in by_counter.items()}
