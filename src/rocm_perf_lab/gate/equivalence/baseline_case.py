"""A case on which the baseline was replayed, to be repeated with each candidate."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf_lab.gate.equivalence.perturbation import Perturbation
from rocm_perf_lab.replaying import Case, CaseOutcome


@dataclass(frozen=True)
class BaselineCase:
    """A case with the baseline's result. perturbation: None for the captured inputs."""

    name: str
    case: Case
    perturbation: Perturbation | None
    outcome: CaseOutcome
