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
        return [_section(pass_, self.directory) for pass_ in self.passes]

    def no_roofline(self, reason: str) -> str:
        """Why there is no roofline. reason: the reason found in the traces."""
        if not self.roofline:
            return _SWITCHED_OFF
        why = dict.fromkeys(pass_.reason for pass_ in self.passes if pass_.kind == COUNTERS and pass_.reason)
        return ": ".join([reason, *why])


def _section(pass_: Pass, directory: Path) -> PassSection:
    reasons = {"kernel": _ALL_KERNELS} if pass_.kernel is None else {}
    if pass_.output is None:
        reasons["output"] = pass_.reason or "it produced nothing"
    return PassSection(
        kind=pass_.kind,
        output=str(pass_.output.relative_to(directory)) if pass_.output else None,
        kernel=pass_.kernel,
        counters=list(pass_.counters),
        missing=dict(pass_.missing),
        notes=[pass_.doubt] if pass_.doubt else [],
        reasons=reasons,
    )
