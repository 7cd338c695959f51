"""`rocm-perf schema`: the JSON Schema of what commands print with --json, and of the files in a run directory."""

from __future__ import annotations

import json

import click

from rocm_perf_lab.cli.json_documents import DOCUMENTS


@click.command()
@click.argument("name", type=click.Choice(tuple(DOCUMENTS)), required=False, metavar="[NAME]")
def command(name: str | None) -> None:
    """Print the JSON Schema of what a command prints, or of a file of a run directory.

    Without NAME, list the names.
    """
    if name is not None:
        click.echo(json.dumps(DOCUMENTS[name].schema(), indent=2))
        return
    width = max(map(len, DOCUMENTS))
    for each, document in DOCUMENTS.items():
        click.echo(f"{each:<{width}}  {document.description}")
