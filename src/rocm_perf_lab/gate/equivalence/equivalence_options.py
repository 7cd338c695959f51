"""Settings of step 4."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocm_perf_lab.cage import View
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.gate import seeds


@dataclass(frozen=True)
class EquivalenceOptions:
    """Settings of the equivalence step.

    level: full (all captures, all perturbations, race check), sampled (one capture per argument list, one perturbation for each
    kind of number, and one for all inputs) or program (nothing is replayed: only the whole program's output decides). ulps:
    tolerance for floating-point numbers; 0 for none. seed: determines the other inputs. race_seeds: one seed for each order of
    workgroups and waves to try on the software device; None derives them from `seed`. arguments: the arguments that the program
    was captured with; they appear only in verdicts. timeout: seconds per dispatch; instruction_limit: instructions per wave on
    the software device; this limit stops an endless kernel at the same point on every machine. view: what the cage lets all
    replays see.
    """

    level: str = "full"
    ulps: int = 0
    seed: int = field(default_factory=seeds.fresh)
    race_seeds: tuple[int, ...] | None = None
    timeout: int = 120
    instruction_limit: int = 100_000_000
    device: str = devices.AUTO
    view: View = View()
    arguments: str | None = None

    @property
    def orders(self) -> tuple[int, ...]:
        return seeds.orders(self.seed) if self.race_seeds is None else self.race_seeds
