"""`rocm-perf schema`: the JSON Schema of what `profile` writes."""

from __future__ import annotations

import json

import click


@click.command()
def command() -> None:
    """Print the JSON Schema of the documents that `profile` writes."""
    from rocm_perf_lab.report.schema import json_schema

    click.echo(json.dumps(json_schema(), indent=2))
