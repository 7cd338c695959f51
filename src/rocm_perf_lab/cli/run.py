"""`rocm-perf run`: run a program on the device that `profile` would use, without profiling it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.program_arguments import CONTEXT_SETTINGS, device_option, program_argument


@click.command(context_settings=CONTEXT_SETTINGS)
@device_option
@debug_option
@program_argument
def command(program: tuple[str, ...], device: str) -> int:
    """Run PROGRAM unprofiled, on a GPU or on the software device.

    The exit status is the program's own, 128 + signal if it was killed.
    """
    from rocm_perf_lab.collect import device as devices
    from rocm_perf_lab.collect.command import resolve
    from rocm_perf_lab.collect.execute import execute_attached

    resolved = resolve(program)
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as scratch:
        environment = devices.select(device, Path(scratch)).environment(os.environ)
        return execute_attached(resolved, environment)
