"""`rocm-perf schema`: a schema for each command's JSON, with a meaning for each field."""

from __future__ import annotations

import json

import jsonschema
import pytest

from published_schemas import objects_of
from rocm_perf_lab.cli.json_documents import DOCUMENTS, FILES, PRINTED
from rocm_perf_lab.cli.reference import every_command


def test_every_command_with_json_has_a_schema(rocm_perf):
    with_json = {name for name, one in every_command() if any(parameter.name == "as_json" for parameter in one.params)}
    assert with_json == set(PRINTED), "add what is missing to rocm_perf_lab/cli/json_documents.py"
    listed = [line.split("  ")[0] for line in rocm_perf("schema").stdout.splitlines()]
    assert listed == list(DOCUMENTS)
    for name in with_json - set(FILES):
        assert name.replace(" ", "-") in listed


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_field_has_a_meaning_that_says_when_it_is_null(name):
    schema = DOCUMENTS[name].schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    objects = list(objects_of(schema))
    assert objects or schema.get("type") == "array"
    for one in objects:
        of_files = "reasons" in one["properties"]  # these say it in each document
        assert one["additionalProperties"] is False, one["title"]
        for field, found in one["properties"].items():
            assert found.get("description"), f"{one['title']}.{field} has no description"
            if {"type": "null"} in found.get("anyOf", ()) and not of_files:
                said = found["description"]
                assert "null" in said or "absent" in said or "always given" in said, f"{one['title']}.{field}: when is it null?"


def test_the_command_line_prints_what_is_published(rocm_perf):
    for name in ("dag", "profile-command", "replay-full-vm"):
        assert json.loads(rocm_perf("schema", name).stdout) == DOCUMENTS[name].schema()
