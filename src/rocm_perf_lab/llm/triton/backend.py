"""The backend for a run in which a model rewrites a Triton function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.optimize.backend import ProfileSummary
from rocm_perf_lab.optimize.source_file import digest
from rocm_perf_lab.optimize.targets import Target
from rocm_perf_lab.optimize.triton.backend import TritonBackend
from rocm_perf_lab.triton_source import TritonSource


class TritonModelBackend(TritonBackend):
    """runs: the folder of earlier runs, whose proposals the model is shown. full_source: whether the whole file is shown."""

    def __init__(self, *arguments: Any, runs: Path, full_source: bool = False):
        super().__init__(*arguments)
        self._runs, self._full_source = runs, full_source

    def context(self, source: TritonSource, summary: ProfileSummary, target: Target) -> str:
        from rocm_perf_lab.prompt.tried_changes import tried_in
        from rocm_perf_lab.prompt.triton.entry import context_in
        from rocm_perf_lab.prompt.triton.rules import TritonAnswerRules

        options = self._options
        tried = tried_in(self._runs, target.demangled, digest(source.state))
        rules = TritonAnswerRules(options.min_improvement, options.ulps)
        return context_in(summary.reports, source, target.kernel, rules, self._note, tried).text(self._full_source)

    def complaint(self, source: TritonSource) -> str | None:
        """Check only the Python syntax: Triton needs concrete arguments to compile, so compilation is left to the gate."""
        try:
            compile(source.text, source.path.name, "exec", dont_inherit=True)
            source.tree  # noqa: B018
        except (SyntaxError, ValueError, RecursionError, SourceError) as error:
            return f"{source.path.name}: error: {error}"
        return None
