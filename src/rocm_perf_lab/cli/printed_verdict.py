"""Prints a verdict of the gate as human-readable lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rocm_perf_lab.gate.verdict import Verdict


def print_verdict(verdict: Verdict, modelled: bool) -> None:
    """modelled: whether times come from the timing model."""
    for step in verdict.steps:
        click.echo(f"{step.step:<12} {step.outcome.value}: {step.reason}")
    how = "; its times are modelled: they come from the software device's timing model, not from a GPU" if modelled else ""
    click.echo(("Accepted" if verdict.accepted else "Rejected") + how)
    if verdict.undecided is not None:
        click.echo(f"Only a GPU can decide whether it is faster there: {verdict.undecided}")
