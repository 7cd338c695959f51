"""Describes the passes of a profile for profile.json: what they produced and, where results are missing, why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.passes import COUNTERS, Pass
from rocm_perf_lab.report.schema import PassSection

_ALL_KERNELS = "a counter pass covers all kernels"
_SWITCHED_OFF = "switched off by --no-roofline"


@dataclass(frozen=True)
class ProfilePasses:
    """directory: the run directory, which contains the runs' outputs. roofline: whether a roofline was requested; if not, the
    roofline is null.
    """

    passes: Sequence[Pass] = ()
    directory: Path = Path()
    roofline: bool = True

    def sections(self) -> list[PassSection]:
        return [_section(found, self.directory) for found in self.passes]

    def no_roofline(self, reason: str) -> str:
        """Why there is no roofline. reason: the reason found in the traces."""
        if not self.roofline:
            return _SWITCHED_OFF
        why = dict.fromkeys(found.reason for found in self.passes if found.kind == COUNTERS and found.reason)
        return ": ".join([reason, *why])


def _section(found: Pass, directory: Path) -> PassSection:
    reasons = {"kernel": _ALL_KERNELS} if found.kernel is None else {}
    if found.output is None:
        reasons["output"] = found.reason or "it produced nothing"
    return PassSection(
        kind=found.kind,
        output=str(found.output.relative_to(directory)) if found.output else None,
        kernel=found.kernel,
        counters=list(found.counters),
        missing=dict(found.missing),
        notes=[found.doubt] if found.doubt else [],
        reasons=reasons,
    )
