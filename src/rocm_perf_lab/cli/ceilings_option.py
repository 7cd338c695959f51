"""The option for measured ceilings, shared by profile and analyze."""

from __future__ import annotations

from pathlib import Path

import click

ceilings_option = click.option(
    "--ceilings", type=click.Path(path_type=Path), metavar="FILE",
    help="File with measured ceilings to show next to the peaks: the ceilings.json that `rocm-perf ceilings` writes, or a "
    "roofline.csv.",
)  # fmt: skip
