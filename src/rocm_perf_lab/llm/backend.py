"""The backend for runs with a language model: the optimizer's backend, plus the context that the model is given for each
kernel.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.optimize import builders
from rocm_perf_lab.optimize.backend import Backend, ProfileSummary
from rocm_perf_lab.optimize.hip_backend import HipBackend
from rocm_perf_lab.optimize.source_file import digest
from rocm_perf_lab.optimize.targets import Target


class ModelBackend(Backend, Protocol):
    def context(self, source: Any, summary: ProfileSummary, target: Target) -> str:
        """The first question: what a model should know about the target."""

    def complaint(self, source: Any) -> str | None:
        """The compiler's message if it rejects the source; otherwise None."""


class HipModelBackend(HipBackend):
    """The backend for HIP.

    runs: the folder of earlier runs, whose proposals are shown to the model. full_source: whether the whole file is shown.
    """

    def __init__(self, *arguments: Any, runs: Path, full_source: bool = False):
        super().__init__(*arguments)
        self._runs, self._full_source = runs, full_source

    def context(self, source: HipSource, summary: ProfileSummary, target: Target) -> str:
        from rocm_perf_lab.prompt import AnswerRules, build_context, tried_in

        options = self._options
        tried = tried_in(self._runs, target.demangled, digest(source.state))
        rules = AnswerRules.asked_for(options)
        return build_context(summary.reports, source, target, tried, rules).text(self._full_source)

    def complaint(self, source: HipSource) -> str | None:
        return builders.complaint(source, self._gpu_target, self._cage_limits, self.view)
