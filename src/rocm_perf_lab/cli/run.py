"""`rocm-perf run`: runs a program on the device that `profile` would use, without profiling it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.program_arguments import (
    ProgramCommand,
    device_options_option,
    program_argument,
    several_devices_option,
)
from rocm_perf_lab.cli.progress import note


@click.command(cls=ProgramCommand)
@several_devices_option
@device_options_option
@debug_option
@program_argument
def command(program: tuple[str, ...], device: str, device_options: tuple[str, ...]) -> int:
    """Run PROGRAM without profiling it, on the device that `profile` would use.

    The exit code is the program's own, or 128 + signal if it was killed. If the program succeeds: 35 if the race check found
    races, 51 if the memory check found a foreign access, 52 if a kernel failed. 53 if the program has no code for the device.
    """
    from rocm_perf_lab.collect import device as devices
    from rocm_perf_lab.collect import device_code
    from rocm_perf_lab.collect.command import resolve
    from rocm_perf_lab.collect.execute import execute_attached

    resolved = resolve(program)
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as scratch:
        chosen = devices.select(device, Path(scratch), device_options, several=True, for_profilers=True)
        findings = _Findings(Path(scratch))
        if devices.NO_OBSERVATION in device_options:
            note(f"{devices.NO_OBSERVATION}: kernels are not timed; for the program, each takes {devices.UNOBSERVED_KERNEL}")
        with device_code.checking_device_code(resolved, os.environ, chosen, note) as explain:
            status = execute_attached(resolved, chosen.environment(os.environ) | findings.variables)
            if status != 0:
                explain()
        if status == 0:
            findings.expect_none(resolved.program)
        return status


class _Findings:
    """What the software device reports about a run: one file for each kind of finding."""

    def __init__(self, scratch: Path):
        self._races, self._foreign, self._failures = scratch / "races", scratch / "foreign", scratch / "failures"

    @property
    def variables(self) -> dict[str, str]:
        from rocm_perf_lab.collect import kernel_failures
        from rocm_perf_lab.collect.device import FOREIGN_ACCESSES_VARIABLE, RACES_VARIABLE

        checks = {RACES_VARIABLE: str(self._races), FOREIGN_ACCESSES_VARIABLE: str(self._foreign)}
        return checks | kernel_failures.variables(self._failures)

    def expect_none(self, program: str) -> None:
        from rocm_perf_lab.collect import kernel_failures
        from rocm_perf_lab.errors import ForeignAccessError, RacesFoundError

        if self._races.exists():
            raise RacesFoundError(program, len(_lines(self._races)))
        if self._foreign.exists():
            raise ForeignAccessError(program, _lines(self._foreign)[0])
        kernel_failures.raise_if_any(program, self._failures)


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()
