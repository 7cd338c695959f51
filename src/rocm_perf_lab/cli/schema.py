"""`rocm-perf schema`: the JSON Schema of what `profile` and `analyze` write and print."""

from __future__ import annotations

import json
from typing import Any

import click

_OF_A_RUN = ("profile", "roofline", "dag", "analysis")
_DOCUMENTS = (*_OF_A_RUN, "summary")
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@click.command()
@click.argument("document", type=click.Choice((*_DOCUMENTS, "analyze")), required=False)
def command(document: str | None) -> None:
    """Print the JSON Schema of a document.

    DOCUMENT names a file of a run directory, or `analyze`: all that `analyze --json` prints. Without it: all that
    `profile --json` prints.
    """
    from rocm_perf_lab.report.schema import json_schema

    schemas = json_schema()
    if document == "analyze":
        found = _of_analyze(schemas)
    else:
        found = schemas[document] if document else _of_profile(schemas)
    click.echo(json.dumps(found, indent=2))


def _of_profile(schemas: dict[str, Any]) -> dict[str, Any]:
    parts = _named(schemas, _OF_A_RUN) | {"run_directory": {"type": "string"}}
    return {"$schema": _DIALECT, "title": "What `rocm-perf profile --json` prints", **_object(parts)}


def _of_analyze(schemas: dict[str, Any]) -> dict[str, Any]:
    one = _object(_named(schemas, _OF_A_RUN) | {"run_directory": {"type": "string"}})
    references = {name: {"$ref": f"urn:rocm-perf-lab:{name}"} for name in _OF_A_RUN}
    ranks = {"type": "array", "items": _object(references)}
    traced = _object(_named(schemas, ("thread_trace",)))
    several = _object(_named(schemas, ("summary",)) | {"ranks": ranks, "run_directory": {"type": "string"}})
    return {"$schema": _DIALECT, "title": "What `rocm-perf analyze --json` prints", "oneOf": [one, several, traced]}


def _named(schemas: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    # An $id of its own makes the references inside an embedded schema look in that schema, not in the whole.
    return {name: {"$id": f"urn:rocm-perf-lab:{name}", **schemas[name]} for name in names}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
