"""`rocm-perf schema`: the JSON Schema of what `profile` writes and prints."""

from __future__ import annotations

import json
from typing import Any

import click

_DOCUMENTS = ("profile", "roofline", "dag", "analysis")


@click.command()
@click.argument("document", type=click.Choice(_DOCUMENTS), required=False)
def command(document: str | None) -> None:
    """Print the JSON Schema of DOCUMENT.json in a run directory, or of all that `profile --json` prints."""
    from rocm_perf_lab.report.schema import json_schema

    schemas = json_schema()
    click.echo(json.dumps(schemas[document] if document else _of_json_output(schemas), indent=2))


def _of_json_output(schemas: dict[str, Any]) -> dict[str, Any]:
    # An $id of its own makes the references inside an embedded schema look in that schema, not in the whole.
    parts = {name: {"$id": f"urn:rocm-perf-lab:{name}", **schemas[name]} for name in _DOCUMENTS}
    properties = parts | {"run_directory": {"type": "string"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What `rocm-perf profile --json` prints",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
