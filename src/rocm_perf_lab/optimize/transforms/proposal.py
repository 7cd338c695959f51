"""The results of a transformation: a change that it proposes, or the reason for leaving a place unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocm_perf_lab.gate.source.promises import NO_PROMISES, Promises
from rocm_perf_lab.hip_source import Edit


@dataclass(frozen=True)
class Proposal:
    """A proposed change.

    transformation, parameters: the kind of change and its details, such as {"factor": 4}. line: where the change is. edits: all
    changes to the source. promises: what the change relies on outside the kernel's body, for the gate to check. other_edits:
    changes to launches in other files, each with its file's real path.
    """

    transformation: str
    kernel: str
    line: int
    description: str
    edits: tuple[Edit, ...]
    parameters: dict[str, int | str] = field(default_factory=dict)
    promises: Promises = NO_PROMISES
    other_edits: tuple[tuple[Path, Edit], ...] = ()


@dataclass(frozen=True)
class Refusal:
    """A place that the transformation leaves unchanged, and why."""

    transformation: str
    kernel: str
    line: int
    reason: str


Transformation = Callable[[Any, Any, tuple[int, ...]], Iterator[Proposal | Refusal]]
"""(source, kernel, factors) -> proposals and refusals in source order; source and kernel are in the transformation's language;
factors: used by transformations that take a factor.
"""
