"""The output of commands, validated against the schemas that `rocm-perf schema` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema

from rocm_perf_lab.cli.json_documents import PRINTED, PRINTED_INSTEAD


def expect_published(command: str, document: Any) -> None:
    """command: its words, such as "replay full-vm". Raises jsonschema.ValidationError."""
    schema = (PRINTED | PRINTED_INSTEAD)[command].schema()
    jsonschema.Draft202012Validator(schema).validate(document)


def objects_of(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The parts of a schema that describe an object's fields, including nested ones."""
    if "properties" in schema:
        yield schema
    for inner in schema.get("$defs", {}).values():
        yield from objects_of(inner)
