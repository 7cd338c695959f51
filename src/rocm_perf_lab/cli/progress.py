"""Progress on stderr while a command works: one line per step, dimmed on a terminal."""

from __future__ import annotations

import sys

import click

from rocm_perf_lab.collect import progress_line


def note(text: str) -> None:
    progress_line.step(text)
    line = f"rocm-perf: {text}"
    click.echo(click.style(line, dim=True) if sys.stderr.isatty() else line, err=True)
