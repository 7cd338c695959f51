"""`rocm-perf run`: run a program on the device that `profile` would use, without profiling it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.program_arguments import CONTEXT_SETTINGS, device_option, device_options_option, program_argument


@click.command(context_settings=CONTEXT_SETTINGS)
@device_option
@device_options_option
@debug_option
@program_argument
def command(program: tuple[str, ...], device: str, device_options: tuple[str, ...]) -> int:
    """Run PROGRAM unprofiled, on a GPU or on the software device.

    The exit status is the program's own, 128 + signal if it was killed; 35 if it succeeds but the race check found races,
    44 if the write check found a foreign write.
    """
    from rocm_perf_lab.collect import device as devices
    from rocm_perf_lab.collect.command import resolve
    from rocm_perf_lab.collect.execute import execute_attached
    from rocm_perf_lab.errors import ForeignWriteError, RacesFoundError

    resolved = resolve(program)
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as scratch:
        environment = devices.select(device, Path(scratch), device_options).environment(os.environ)
        races, writes = Path(scratch) / "races", Path(scratch) / "writes"
        findings = {devices.RACES_VARIABLE: str(races), devices.WRITES_VARIABLE: str(writes)}
        status = execute_attached(resolved, environment | findings)
        if status == 0 and races.exists():
            raise RacesFoundError(resolved.program, len(races.read_text().splitlines()))
        if status == 0 and writes.exists():
            raise ForeignWriteError(resolved.program, writes.read_text().splitlines()[0])
        return status
