"""What tools take against what the commands take: every property becomes words that the command's own parser reads back."""

from __future__ import annotations

import click
import jsonschema
import pytest

from rocm_perf_lab.cli import cli
from rocm_perf_lab.mcp.tools import FOLDER, TIME_LIMIT, Tool, tools

TOOLS = tools()
each_tool = pytest.mark.parametrize("tool", TOOLS.values(), ids=list(TOOLS))
LEFT_OUT = {"as_json", "quiet", "debug", "history", "help"}


def sample(schema: dict):
    """A value that the schema allows, unlike the default; strings look like options where they can."""
    kind = schema.get("type")
    if "enum" in schema:
        return schema["enum"][-1]
    if kind == "array":
        return [sample(schema["items"]), sample(schema["items"])]
    if kind == "boolean":
        return not schema.get("default", False)
    if kind in ("integer", "number"):
        low = schema.get("minimum", schema.get("exclusiveMinimum", 1))
        high = schema.get("maximum", schema.get("exclusiveMaximum", low + 4))
        return (low + high) // 2 if kind == "integer" else (low + high) / 2
    return "--json"


READABLE = {"factors": "2,3", "att_simd_select": "1", "what_if": ["a=2", "b=3"], "time_window": "1ms:2ms"}


@each_tool
def test_every_property_reaches_the_command(tool: Tool):
    schema = tool.schema
    jsonschema.Draft202012Validator.check_schema(schema)
    arguments = {
        name: READABLE.get(name, sample(one)) for name, one in schema["properties"].items() if name not in (FOLDER, TIME_LIMIT)
    }
    jsonschema.validate(arguments, schema)
    words = tool.argv(arguments)[len(tool.words) :]
    top = click.Context(cli, info_name="rocm-perf", **cli.context_settings)  # a command keeps the help option that it first has
    parsed = tool.command.make_context(tool.name, list(words), parent=top).params
    assert parsed["as_json"] is True
    for name, parameter in tool.properties.items():
        found = parsed[parameter.name]
        wanted = arguments[name]
        if name in READABLE:
            assert found not in (None, ()), name
        elif isinstance(found, tuple):
            assert [str(one) for one in found] == wanted, name
        else:
            assert str(found) == str(wanted), name


@each_tool
def test_every_option_is_a_property(tool: Tool):
    assert {parameter.name for parameter in tool.properties.values()} == {
        parameter.name for parameter in tool.command.params if parameter.name not in LEFT_OUT
    }
    assert not {FOLDER, TIME_LIMIT} & set(tool.properties)
    for name, one in tool.schema["properties"].items():
        assert one["description"], name


@each_tool
def test_defaults_are_the_command_s(tool: Tool):
    for name, one in tool.schema["properties"].items():
        if "default" in one:
            jsonschema.validate(one["default"], one)
            parameter = tool.properties[name]
            assert str(parameter.get_default(click.Context(tool.command))) == str(one["default"])
