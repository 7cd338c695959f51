"""The profile of the best configuration, which is rebuilt and then run through the pipeline of `rocm-perf profile`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rocm_perf_lab.autotune.autotune_document import BestProfile
from rocm_perf_lab.autotune.program import TunedProgram, for_target
from rocm_perf_lab.collect.command import resolve
from rocm_perf_lab.collect.execute import execute
from rocm_perf_lab.errors import NothingRanError, RocmPerfError


def best_profile(
    program: TunedProgram, values: dict[str, object], device: str, target: str | None, timeout: float | None, destination: Path,
    note: Callable[[str], None],
) -> BestProfile:  # fmt: skip
    """Profile the best configuration. The run directory is either complete or absent.

    Raises whatever profiling raises, and NothingRanError if the build now fails.
    """
    from rocm_perf_lab.profiling.request import ProfileRequest
    from rocm_perf_lab.profiling.session import profile as profile_program

    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as scratch:
        commands = program.commands(values, Path(scratch) / "output")
        if commands.build:
            _build(commands.build, for_target(target) | os.environ | commands.environment, timeout)
        command = commands.command
        if commands.environment:  # so that the profile records them as part of the command
            command = ["env", *(f"{name}={value}" for name, value in commands.environment.items()), *command]
        request = ProfileRequest(command=command, device=device, timeout=timeout, destination=destination)
        documents, directory = profile_program(request, sys.stderr, note)
    profile, analysis = documents.profile, documents.analysis.kernels
    return BestProfile(
        run_directory=str(directory),
        runtime_ms=profile.runtime_ms,
        cv=profile.stability.cv,
        timing=profile.timing,
        kernel=profile.kernel.name,
        bottleneck=next((kernel.bottleneck.name for kernel in analysis if kernel.kernel == profile.kernel.name), None),
    )


def _build(argv: list[str], environment: dict[str, str], timeout: float | None) -> None:
    try:
        execute(resolve(argv), environment, stdin=subprocess.DEVNULL, stdout=sys.stderr, timeout=timeout)
    except RocmPerfError as error:
        raise NothingRanError(f"{error.problem} when the best was rebuilt", "see its messages above") from error
