"""Properties of tools against options of commands: every property becomes words that the command's own parser reads back."""

from __future__ import annotations

import click
import jsonschema
import pytest

from rocm_perf_lab.cli import cli
from rocm_perf_lab.mcp.tools import FOLDER, TIME_LIMIT, McpTool, tools

TOOLS = tools(cli)
each_tool = pytest.mark.parametrize("tool", TOOLS.values(), ids=list(TOOLS))
CAGE = {"trust_candidates": True, "keep_env": ("HOME", "--json("), "readable": ("/a b",)}
LEFT_OUT = {"as_json", "quiet", "verbose", "markdown", "html", "debug", "history", "help", *CAGE}
RARE = {"clock_mhz", "memory_bandwidth_gbps", "ceilings", "scheduler", "no_rocprof", "collector", "att_target_cu",
        "att_simd_select", "focus_critical"}  # fmt: skip


def sample(schema: dict):
    """A value that the schema allows and that differs from the default; strings look like options."""
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
    return "--json("  # not a number or a regular expression


def parsed(tool: McpTool, arguments: dict) -> dict:
    words = tool.argv(arguments)[len(tool.words) :]
    top = click.Context(cli, info_name="rocm-perf", **cli.context_settings)  # a command keeps its first help option
    return tool.command.make_context(tool.name, list(words), parent=top).params


def is_our_own_type(parameter: click.Parameter) -> bool:
    known = isinstance(parameter.type, click.FloatRange | click.Choice)
    return type(parameter.type).__module__.startswith("rocm_perf_lab") and not known


def of_our_own_type(tool: McpTool) -> dict[str, str]:
    """Required properties with values that they accept, such as the pattern for kernels."""
    return {name: "--json" for name in tool.schema["required"] if is_our_own_type(tool.properties[name])}


@each_tool
def test_every_property_reaches_the_command(tool: McpTool):
    schema = tool.schema
    jsonschema.Draft202012Validator.check_schema(schema)
    arguments = {name: sample(schema["properties"][name]) for name, one in tool.properties.items() if not is_our_own_type(one)}
    arguments |= of_our_own_type(tool)
    jsonschema.validate(arguments, schema)
    found = parsed(tool, arguments)
    assert found["as_json"] is True
    for name, wanted in arguments.items():
        value = found[tool.properties[name].name]
        assert ([str(one) for one in value] if isinstance(value, tuple) else str(value)) == (
            wanted if isinstance(wanted, list) else str(wanted)
        ), name


@each_tool
def test_custom_types_get_the_words_unchanged(tool: McpTool):
    """Their own parsing is not tested here; that they refuse the sample shows that they received it."""
    given = {name: sample(tool.schema["properties"][name]) for name in tool.schema["required"]} | of_our_own_type(tool)
    for name, parameter in tool.properties.items():
        if is_our_own_type(parameter):
            with pytest.raises(click.BadParameter, match="--json") as error:
                parsed(tool, given | {name: sample(tool.schema["properties"][name])})
            assert error.value.param.name == parameter.name


@each_tool
def test_every_option_is_a_property(tool: McpTool):
    assert {parameter.name for parameter in tool.properties.values()} == {
        parameter.name for parameter in tool.command.params if parameter.name not in LEFT_OUT | RARE
    }
    assert not {FOLDER, TIME_LIMIT} & set(tool.properties)
    for name, one in tool.schema["properties"].items():
        assert one["description"], name


def test_confinement_of_candidates_is_decided_by_who_starts_the_server():
    for name in ("gate", "optimize"):
        given = {one: sample(TOOLS[name].schema["properties"][one]) for one in TOOLS[name].schema["required"]}
        assert parsed(TOOLS[name], given)["trust_candidates"] is False
        words = TOOLS[name].argv(given, CAGE)
        found = TOOLS[name].command.make_context(name, words[len(TOOLS[name].words) :]).params
        assert {one: tuple(map(str, found[one])) if isinstance(CAGE[one], tuple) else found[one] for one in CAGE} == CAGE
    assert "--trust-candidates" not in TOOLS["doctor"].argv({}, CAGE)


@each_tool
def test_defaults_are_those_of_the_command(tool: McpTool):
    for name, one in tool.schema["properties"].items():
        if "default" in one:
            jsonschema.validate(one["default"], one)
            parameter = tool.properties[name]
            assert str(parameter.get_default(click.Context(tool.command))) == str(one["default"])
