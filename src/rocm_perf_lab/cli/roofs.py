"""The option for measured ceilings, which profile and analyze share."""

from __future__ import annotations

from pathlib import Path

import click

ceilings_option = click.option(
    "--ceilings", type=click.Path(path_type=Path), metavar="FILE",
    help="Measured ceilings: ceilings.json of `rocm-perf ceilings`, or a roofline.csv.",
)  # fmt: skip
