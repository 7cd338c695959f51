"""`rocm-perf doctor`: what is installed, what is missing, and how to get it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rocm_perf_lab.errors import UnavailableError

if TYPE_CHECKING:
    from rocm_perf_lab.collect.diagnosis import Diagnosis

_MARKS = {"ok": ("ok     ", "green"), "missing": ("missing", "red"), "optional": ("absent ", "yellow")}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as one JSON object.")
def command(as_json: bool) -> int:
    """Check what this machine offers for profiling. Exit code 0 if `profile` can work, else 69."""
    from rocm_perf_lab.collect.diagnosis import diagnose

    diagnosis = diagnose()
    if as_json:
        click.echo(_json(diagnosis))
    else:
        _print(diagnosis)
    return 0 if diagnosis.can_profile else UnavailableError.exit_code


def _json(diagnosis: Diagnosis) -> str:
    """The diagnosis as JSON. Needs pydantic: raises UnavailableError if it is missing."""
    try:
        import pydantic  # noqa: F401
    except ImportError as error:
        raise UnavailableError("the Python package pydantic is missing", "run `pip install pydantic`") from error
    from rocm_perf_lab.collect.doctor_document import doctor_document
    from rocm_perf_lab.json_model import json_text

    return json_text(doctor_document(diagnosis))


def _print(diagnosis: Diagnosis) -> None:
    width = max(len(finding.name) for finding in diagnosis.findings)
    shown_hints = set()
    for finding in diagnosis.findings:
        mark, colour = _MARKS[finding.status]
        click.echo(f"{click.style(mark, fg=colour)}  {finding.name:<{width}}  {finding.detail}")
        if finding.hint and finding.hint not in shown_hints:
            shown_hints.add(finding.hint)
            click.echo(f"{'':<{len(mark)}}  {'':<{width}}  -> {finding.hint}")
    click.echo(f"\n{diagnosis.verdict}")
