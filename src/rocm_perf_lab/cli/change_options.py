"""Options of the commands that change a kernel of a program, or judge a change: the same everywhere, in name and meaning."""

from __future__ import annotations

from pathlib import Path

import click

source_option = click.option(
    "--source", "-s", type=click.Path(path_type=Path), metavar="FILE", help="The program's HIP source.  [default: found]"
)
build_option = click.option(
    "--build",
    metavar="CMD",
    help="Builds BINARY of SOURCE; write these two words for the files.  [default: the compilation database's, else hipcc]",
)
equivalence_option = click.option(
    "--equivalence",
    type=click.Choice(("full", "sampled", "program")),
    default="full",
    show_default=True,
    help="How the same results are shown: see the gate's levels in the user guide.",
)
ulps_option = click.option(
    "--ulps",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="How far floating-point results may differ, in units in the last place.",
)
check_option = click.option(
    "--check",
    metavar="CMD",
    help="Judges the program's output, given on its standard input, by its exit status, instead of comparing it.",
)
in_place_option = click.option(
    "--in-place", is_flag=True, help="Change the source itself.  [default: write <source>.optimized.<ext> and a patch]"
)
resume_option = click.option("--resume", is_flag=True, help="Go on with the newest run, which was interrupted.")
runs_folder_option = click.option(
    "--output",
    "-o",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where runs keep their journals.  [default: ./<program>.rocm-perf-optimize]",
)
timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop a run of the program that takes longer.",
)
