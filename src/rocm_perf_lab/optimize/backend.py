"""The side effects of the optimization loop: profiling a source's program, and opening the gate for one of the source's
kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rocm_perf_lab.cage import View
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import CaptureError, NoCaptureError, PlacementError, ReplayFailedError
from rocm_perf_lab.gate.regression_limits import DEFAULTS, RegressionLimits
from rocm_perf_lab.gate.source.promises import NO_PROMISES, Promises
from rocm_perf_lab.gate.verdict import Verdict
from rocm_perf_lab.gate.verdict_document import Timing
from rocm_perf_lab.optimize.journal_lines import Line
from rocm_perf_lab.optimize.source_protocol import Source
from rocm_perf_lab.optimize.targets import SkippedTarget, Target

if TYPE_CHECKING:
    from rocm_perf_lab.report.documents import CoreDocuments

Log = Callable[[Line], None]
"""Writes one line to the journal."""

CANNOT_JUDGE = (NoCaptureError, CaptureError, PlacementError, ReplayFailedError)
"""Errors in capturing or replaying the baseline: the kernel is skipped, and the run continues."""


@dataclass(frozen=True)
class ProfileSummary:
    """The parts of a profile that the loop needs. runtime_ms: total time of the program's own kernels. documents: the whole
    profile.

    dominant: the kernel that accounts for most of the critical path (demangled); fraction: its share of that path; None if
    unknown.
    """

    runtime_ms: float | None
    timing: Timing
    timing_parameters: str | None
    device: str
    targets: Sequence[Target]
    skipped: Sequence[SkippedTarget]
    documents: CoreDocuments | None = None
    dominant: str | None = None
    fraction: float | None = None

    @property
    def reports(self) -> CoreDocuments:
        """The documents of a summary made by this process; a summary restored from a journal has none."""
        if self.documents is None:
            raise ValueError("a summary restored from a journal has no documents")
        return self.documents


class Gate(Protocol):
    def judge(self, candidate: bytes, promises: Promises = NO_PROMISES) -> Verdict:
        """Judge a candidate. candidate: the changed source as a state (hip_source.source_state). promises: see
        gate.source.promises.
        """

    def ratio_on_captured_inputs(self, candidate: bytes, promises: Promises = NO_PROMISES) -> float | None:
        """A lower bound on the ratio that a verdict can report: the kernel's time with the candidate divided by its time with
        the baseline. None if only a full judgement can tell.
        """


class Backend(Protocol):
    """The operations that the loop needs. Each backend serves the sources of one language; tests use a fake backend."""

    def read(self, state: bytes) -> Source: ...

    def profile(self, source: Any) -> ProfileSummary: ...

    def gate(self, source: Any, target: Target) -> AbstractContextManager[Gate]: ...


class RememberingBackend(Backend, Protocol):
    """The backend for a loop that remembers rejections across runs."""

    def fingerprint(self, source: Any, target: Target) -> str:
        """A hash of everything that the gate's rejections of changes to this kernel depend on; see optimize.rejections."""


@dataclass(frozen=True)
class BackendOptions:
    """Settings of a backend and of its gate.

    pattern: selects kernels; None for all. equivalence: the gate's equivalence level. check: see
    gate.application.application_check. ulps: allowed difference between floating-point results, in units in the last place.
    regression: None for the defaults. view: what candidates may see in addition to what they need. seed: determines all of the
    gate's random choices; None to draw a new seed. also: additional argument lists to judge candidates with. suggest: whether
    to suggest such arguments. time_first: see gate.judge.GateOptions.
    """

    pattern: str | None = None
    min_improvement: float = 0.02
    equivalence: str = "full"
    check: tuple[str, ...] = ()
    device: str = devices.AUTO
    timeout: float | None = None
    ulps: int = 0
    regression: RegressionLimits | None = None
    view: View = View()
    seed: int | None = None
    also: tuple[tuple[str, ...], ...] = ()
    suggest: bool = False
    time_first: bool = False

    @property
    def limits(self) -> RegressionLimits:
        return self.regression or DEFAULTS
