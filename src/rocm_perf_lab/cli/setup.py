"""`rocm-perf setup`: installs a Debian root with ROCm, for machines without ROCm."""

from __future__ import annotations

import click

from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.progress import note


@click.command()
@debug_option
def command() -> None:
    """Create a Debian root with ROCm next to this system, for a machine without ROCm.

    Downloads about 2 GB into ~/.cache/rocm-perf-lab (XDG_CACHE_HOME), which takes a few minutes, and changes nothing else. Run
    it as root, or as a user with subordinate ids and mmdebstrap. Commands that need ROCm then run in it automatically, and
    `rocm-perf shell` opens a shell in it, with hipcc. A second run brings the root up to date or does nothing. Debian's mirror
    is the one that apt uses here, or the one in ROCM_PERF_DEBIAN_MIRROR. To remove the root, delete that folder.
    """
    from rocm_perf_lab.debian_root import paths
    from rocm_perf_lab.debian_root.make import make

    if paths.is_inside() or paths.machine_can_run():
        note("this machine has a working ROCm: there is nothing to set up")
        return
    make()
    note("ready: `rocm-perf profile ./app` now runs in the Debian root; `rocm-perf shell` opens a shell in it")
