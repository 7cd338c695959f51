"""The stages that are tried with each program. Each returns its result as a dictionary for JSON."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from others import building, smaller, verdict
from others.checkout import Program
from others.process import RunResult, run

Result = dict[str, Any]
_FIRST_OWN_KERNEL = "^(?!__amd_)"  # the runtime's own kernels copy and fill memory


@dataclass
class Trial:
    program: Program
    folder: Path  # used by this program alone
    timeout: float

    @property
    def working_folder(self) -> Path:
        return self.folder / "src" / self.program.folder.name

    def command(self) -> list[str]:
        start = self.program.start or ["./main"]
        return [start[0], *self.arguments()]

    def arguments(self) -> list[str]:
        listed_arguments = self.program.entry.arguments
        if listed_arguments is not None:
            return shlex.split(listed_arguments)
        return smaller.smaller(self.program.start[1:], smaller.usage_of(self.program.texts()))

    def run_stage(self, stage: str, *words: str, within: Path | None = None) -> RunResult:
        return run(words, within or self.working_folder, self.folder / f"{stage}.log", self.timeout)


def build(trial: Trial) -> Result:
    building.copy(trial.program, trial.folder / "src")
    ran = building.build(trial.program, trial.working_folder, trial.folder / "build.log", max(300, trial.timeout))
    return _result(ran, verdict.of_build(ran))


def run_it(trial: Trial) -> Result:
    ran = trial.run_stage("run", "rocm-perf", "run", "--device", "gfx942", *trial.command())
    check = verdict.self_check(ran.output)
    return _result(ran, verdict.of_run(ran, check)) | {"check": check, "command": shlex.join(trial.command())}


def profile(trial: Trial) -> Result:
    outputs = ["-o", str(trial.folder / "profile"), "--runs", "1"]
    ran = trial.run_stage("profile", "rocm-perf", "profile", "--device", "gfx942", *outputs, *trial.command())
    return _result(ran, verdict.of_command(ran))


def isolate(trial: Trial) -> Result:
    """Capture the first dispatch of a kernel of the program's own, for `replay`."""
    captures = trial.folder / "captures"
    shutil.rmtree(captures, ignore_errors=True)
    captures.mkdir()
    which = ["--kernel", _FIRST_OWN_KERNEL, "-o", str(captures)]
    ran = trial.run_stage("isolate", "rocm-perf", "isolate", "--device", "gfx942", *which, *trial.command())
    return _result(ran, verdict.of_command(ran))


def replay(trial: Trial) -> Result:
    captures = trial.folder / "captures"
    words = ["--iterations", "1", "--compare", "--capture-dir", str(captures / "isolate_capture")]
    ran = trial.run_stage("replay", "rocm-perf", "replay", "full-vm", *words)
    shutil.rmtree(captures, ignore_errors=True)
    return _result(ran, verdict.of_command(ran))


def prompt(trial: Trial) -> Result:
    ran = trial.run_stage("prompt", "rocm-perf", "prompt", "--device", "gfx942", *_built(trial), *trial.command())
    return _result(ran, verdict.of_command(ran))


def optimize(trial: Trial) -> Result:
    """Find out what the optimizer would propose."""
    options = ["--dry-run", "--device", "gfx942", *_built(trial), "-o", str(trial.folder / "optimize")]
    ran = trial.run_stage("optimize", "rocm-perf", "optimize", *options, *trial.command())
    return _result(ran, verdict.of_command(ran))


def _built(trial: Trial) -> list[str]:
    return ["--build", shlex.join(building.command(trial.program))]


STAGES: dict[str, Callable[[Trial], Result]] = {
    "build": build,
    "run": run_it,
    "profile": profile,
    "isolate": isolate,
    "replay": replay,
    "prompt": prompt,
    "optimize": optimize,
}
_PREVIOUS_STAGE = {"run": "build", "profile": "run", "isolate": "run", "replay": "isolate", "prompt": "run", "optimize": "run"}


def next_stage(results: dict[str, Result], wanted: list[str]) -> str | None:
    """The first stage that is wanted and not done, and whose prerequisite succeeded; None if there is none."""
    for stage in STAGES:
        if (
            stage in wanted
            and stage not in results
            and (stage not in _PREVIOUS_STAGE or _is_ok(results.get(_PREVIOUS_STAGE[stage])))
        ):
            return stage
    return None


def _is_ok(result: Result | None) -> bool:
    return result is not None and result["result"] == "ok"


def _result(ran: RunResult, judged: tuple[str, str]) -> Result:
    ended, reason = judged
    result = "time-out" if ran.status is None else "ok" if ran.status == 0 else "failed"
    return {"result": result, "class": ended, "reason": reason[:300], "status": ran.status, "seconds": ran.seconds}
