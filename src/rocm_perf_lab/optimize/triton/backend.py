"""The backend for a Triton function: profiles the script that launches it, and has the gate for Triton functions judge
candidates.

A candidate is the text of a file. Scripts run with this text instead of the file's own; the file is not changed.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from rocm_perf_lab import __version__, cage
from rocm_perf_lab.errors import NoKernelsError
from rocm_perf_lab.gate import seeds
from rocm_perf_lab.gate.triton_kernel.request import TritonGateRequest
from rocm_perf_lab.gate.triton_kernel.times_before_judging import first_times
from rocm_perf_lab.optimize.backend import BackendOptions, Gate, Log, ProfileSummary
from rocm_perf_lab.optimize.journal_lines import GateLine
from rocm_perf_lab.optimize.rejections import fingerprint_of
from rocm_perf_lab.optimize.source_file import digest, write_whole
from rocm_perf_lab.optimize.targets import Target, stack_of, waits_of
from rocm_perf_lab.optimize.triton.gate import TritonGate
from rocm_perf_lab.optimize.triton.script_profile import profile_script
from rocm_perf_lab.optimize.triton.whole_script import WholeScript
from rocm_perf_lab.report.documents import CoreDocuments
from rocm_perf_lab.report.schema import KernelAnalysis
from rocm_perf_lab.triton_launches import ScriptKernel
from rocm_perf_lab.triton_source import TritonSource


class TritonBackend:
    """kernel: the function, and the script that launches it. file: contains the function. folder: the run's folder."""

    def __init__(
        self, kernel: ScriptKernel, file: Path, folder: Path, options: BackendOptions, log: Log, note: Callable[[str], None]
    ):
        self._kernel, self._file, self._folder, self._options = kernel, file, folder, options
        self._log, self._note = log, note
        self._seed = seeds.fresh() if options.seed is None else options.seed
        self._profiles, self._timing = 0, str(None)
        self._writing = threading.Lock()
        self._whole = WholeScript(self.with_text, folder / "application", options, log, note)
        if not options.view.trusted:
            cage.expect_mechanism()

    def read(self, state: bytes) -> TritonSource:
        return TritonSource(self._file, state)

    def profile(self, source: TritonSource) -> ProfileSummary:
        """Raises whatever profiling raises, and NoKernelsError if the function is not launched."""
        self._profiles += 1
        self._note(f"profiling {self._kernel.script}" if self._profiles == 1 else "profiling what was accepted")
        run_directory, options = self._folder / f"profile-{self._profiles}", self._options
        documents = profile_script(self.with_text(source.text), options.device, run_directory, options.timeout, self._note)
        profile = documents.profile
        self._timing = str(profile.timing_parameters)
        target = self._target(documents)
        return ProfileSummary(
            profile.runtime_ms, profile.timing, profile.timing_parameters, profile.gpu.product, [target], [], documents,
            target.demangled, target.share,
        )  # fmt: skip

    @contextlib.contextmanager
    def gate(self, source: TritonSource, target: Target) -> Iterator[Gate]:
        """Raises NoCageError, and whatever the gate's baseline raises."""
        request = self._request(source)
        self._log(
            GateLine(
                kernel=target.demangled,
                level="full",
                seed=request.seed,
                race_seeds=list(seeds.orders(request.seed)),
                measurement_seed=seeds.resampling(request.seed),
                max_regression=self._options.limits.document(),
                cage=cage.in_words(self._options.view),
            )
        )
        with first_times(request) as times:
            yield TritonGate(request, times, self.with_text, self._whole.judge_against(source.text))

    def fingerprint(self, source: TritonSource, target: Target) -> str:
        options = self._options
        gate = ("full", options.ulps, options.min_improvement, options.check, options.limits.document())
        program = (self._kernel.arguments, self._kernel.kernel, self._kernel.version(), target.dispatches)
        kernel = source.kernel(target.kernel)
        around = (source.text[: kernel.span.start], source.text[kernel.span.end :])
        own = source.text[kernel.span.start : kernel.span.end]
        return fingerprint_of(__version__, self._timing, repr(gate), repr(program), repr(target.time_ms), own, *around)

    def with_text(self, text: bytes) -> ScriptKernel:
        """The script, to be run with this text instead of the file's own."""
        path = self._folder / "texts" / digest(text)[:16] / self._file.name
        with self._writing:
            if not path.exists():
                write_whole(path, text)
        return self._kernel.with_text(self._file.absolute(), path)

    def clear(self) -> None:
        """Remove the files that only this process needs; profiles are kept."""
        for name in ("texts", "application"):
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def _request(self, source: TritonSource) -> TritonGateRequest:
        options, baseline = self._options, self.with_text(source.text)
        request = TritonGateRequest(
            baseline, baseline, options.device, options.ulps, options.min_improvement, self._seed, view=options.view
        )
        return request if options.timeout is None else replace(request, timeout=options.timeout)

    def _target(self, documents: CoreDocuments) -> Target:
        analysis = longest(documents, self._kernel.kernel)
        return target_of(analysis, self._kernel.kernel, self._file.name)


def longest(reports: CoreDocuments, name: str) -> KernelAnalysis:
    """Of the kernels compiled from the function, the one that takes the most time. Raises NoKernelsError if there are none."""
    kernels = [kernel for kernel in reports.analysis.kernels if any(of.function == name for of in kernel.triton)]
    if not kernels:
        launched = sorted({of.function for kernel in reports.analysis.kernels for of in kernel.triton})
        hint = f"name one of {', '.join(launched)}" if launched else "check that the script runs with `rocm-perf run`"
        raise NoKernelsError(f"the profile has no kernel of a Triton function called {name}", hint)
    return max(kernels, key=lambda kernel: kernel.time_ms or 0.0)


def target_of(analysis: KernelAnalysis, name: str, file: str) -> Target:
    """The function as a target. file: the name of its file, without the folder."""
    head = analysis.headroom
    return Target(
        kernel=name,
        demangled=analysis.kernel,
        dispatches=analysis.dispatches,
        time_ms=analysis.time_ms,
        share=analysis.critical_path_score,
        headroom=head.fraction,
        priority=head.priority,
        bottleneck=analysis.bottleneck.name,
        waited_cycles=waits_of(analysis, file),
        stack=stack_of(analysis, file),
    )
