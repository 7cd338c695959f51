"""Judges the whole script with a candidate: its exit status and output must be the same as before, and it must not be slower
than allowed.
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rocm_perf_lab.cage import View
from rocm_perf_lab.cage.needed_paths import installation
from rocm_perf_lab.gate.application.application_check import ApplicationOptions, BaselineProgram
from rocm_perf_lab.gate.verdict import StepVerdict
from rocm_perf_lab.optimize.backend import BackendOptions, Log
from rocm_perf_lab.optimize.journal_lines import ApplicationBaselineLine
from rocm_perf_lab.optimize.source_file import digest, write_whole
from rocm_perf_lab.triton_launches import ScriptKernel

_KEPT_VARIABLES = ("PYTHONPATH", "VIRTUAL_ENV")
_CACHE = "TRITON_CACHE_DIR"


class WholeScript:
    """May be used from several threads. with_text: returns the script, to be run with a given text instead of the file's own.
    folder: holds the runs and is not deleted.
    """

    def __init__(
        self, with_text: Callable[[bytes], ScriptKernel], folder: Path, options: BackendOptions, log: Log,
        note: Callable[[str], None],
    ):  # fmt: skip
        self._with_text, self._folder, self._options, self._log, self._note = with_text, folder, options, log, note
        self._baseline_program: BaselineProgram | None = None
        self._starting = threading.Lock()
        self._compared: bytes | None = None

    def judge_against(self, baseline: bytes) -> Callable[[bytes], StepVerdict]:
        """Returns a function that judges candidates against this text. The text is not run until the first candidate is judged,
        so any errors from running it are raised then.
        """

        def judged(candidate: bytes) -> StepVerdict:
            with self._starting:
                program = self._baseline_for(baseline)
            return program.check(self._program(candidate))

        return judged

    def _baseline_for(self, baseline: bytes) -> BaselineProgram:
        program = self._program(baseline)
        if self._baseline_program is None:
            self._note("running the unchanged script twice")
            self._baseline_program = BaselineProgram(program, (), self._folder, self._limits(self._with_text(baseline)))
        elif baseline != self._compared:
            self._baseline_program.take_as_baseline(program)
        else:
            return self._baseline_program
        self._compared = baseline
        baseline_program = self._baseline_program
        times, repeats = baseline_program.runtimes_ms, baseline_program.reproducible
        self._log(ApplicationBaselineLine(source=digest(baseline), runtimes_ms=times, stdout_repeats=repeats))
        return baseline_program

    def _limits(self, kernel: ScriptKernel) -> ApplicationOptions:
        options = self._options
        return ApplicationOptions(
            runtime=options.limits.runtime,
            dram_bytes=options.limits.dram,
            check=options.check,
            timeout=options.timeout,
            device=options.device,
            view=self._view(kernel, options.view),
        )

    def _view(self, kernel: ScriptKernel, view: View) -> View:
        texts = [path.parents[1] for path in kernel.of_change()]
        interpreter = installation(str(kernel.python), Path.cwd())
        shown = view.showing(
            (kernel.script.absolute().parent, *kernel.of_environment(), *texts, *filter(Path.exists, interpreter))
        )
        return replace(shown, keep_env=(*shown.keep_env, *_KEPT_VARIABLES))

    def _program(self, text: bytes) -> Path:
        """The script as one executable file, since all programs to be compared are started from the same path."""
        kernel = self._with_text(text)
        path = self._folder / "programs" / digest(text)[:16] / kernel.script.stem
        # A cache inside the cage disappears along with the cage: one run must not execute code that another run has compiled.
        words = f"#!/bin/sh\nexport {_CACHE}=/tmp/triton-cache\nexec {shlex.join(kernel.program())}\n"
        write_whole(path, words.encode("utf-8", "surrogateescape"))
        path.chmod(0o755)
        return path
