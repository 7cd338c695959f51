"""The commands that are offered as tools, their parameters as a JSON Schema, and the command line for a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from rocm_perf_lab.mcp.descriptions import DESCRIPTIONS

FOLDER, TIME_LIMIT = "folder", "time_limit"
_COMMANDS = {
    "profile": "profile",
    "analyze": "analyze",
    "compare": "compare",
    "explain": "explain",
    "source": "source",
    "prompt": "prompt",
    "gate": "gate",
    "isolate": "isolate",
    "replay": "replay full-vm",
    "autotune": "autotune",
    "optimize": "optimize",
    "doctor": "doctor",
}
_NOT_FOR_TOOLS = {
    "as_json",
    "quiet",
    "verbose",
    "markdown",
    "html",
    "debug",
    "help",
    "history",
}  # set by the server itself, or useful only in a terminal
_THE_USERS = {"trust_candidates", "keep_env", "readable"}  # whoever writes candidates must not decide how they are confined
_CHANGES_FILES = {"optimize"}  # tools that change existing files
_TEXT = {"type": "string"}
# Options that an agent can do without when finding and improving a slow kernel; people can use them on the command line.
_RARE = {"clock_mhz", "memory_bandwidth_gbps", "ceilings", "scheduler", "no_rocprof", "collector", "att_target_cu",
         "att_simd_select", "focus_critical"}  # fmt: skip
_ONLY_READ = {"doctor", "compare", "explain", "source"}
_RUN_NOTHING = {"doctor", "compare", "source", "analyze"}


@dataclass(frozen=True)
class McpTool:
    """A command offered as a tool.

    name: the tool's name. words: the command's words. properties: JSON name -> the command's parameter.
    """

    name: str
    words: tuple[str, ...]
    command: click.Command
    properties: Mapping[str, click.Parameter]

    @property
    def title(self) -> str:
        return f"rocm-perf {' '.join(self.words)}"

    @property
    def description(self) -> str:
        """Tells an agent when to use the tool, what it returns, and what to do next."""
        return DESCRIPTIONS[self.name]

    @property
    def changes_files(self) -> bool:
        return self.name in _CHANGES_FILES

    @property
    def only_reads(self) -> bool:
        return self.name in _ONLY_READ

    @property
    def runs_programs(self) -> bool:
        """Whether the tool runs programs, which can do anything."""
        return self.name not in _RUN_NOTHING

    @property
    def schema(self) -> dict[str, Any]:
        """The schema of the call's arguments."""
        properties = {name: _schema(parameter) for name, parameter in self.properties.items()}
        properties[FOLDER] = _TEXT | {"description": "Where the command runs. Default: the folder that the server serves."}
        properties[TIME_LIMIT] = {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "Seconds after which the command is stopped, whatever it does. Default: none.",
        }
        required = [name for name, parameter in self.properties.items() if _is_required(parameter)]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def argv(self, arguments: Mapping[str, Any], cage: Mapping[str, Any] = MappingProxyType({})) -> list[str]:
        """The words after `rocm-perf`. arguments: already validated against the schema. No value can be mistaken for an option.

        cage: values of the cage's options, by their names; ignored for a command without these options.
        """
        words, positional = [*self.words, "--json"], []
        for parameter in self.command.params:
            if isinstance(parameter, click.Option) and parameter.name in _THE_USERS and cage.get(parameter.name):
                words += _option_words(parameter, cage[parameter.name])
        for name, parameter in self.properties.items():
            if name not in arguments:
                continue
            value = arguments[name]
            if isinstance(parameter, click.Option):
                words += _option_words(parameter, value)
            else:
                positional += value if isinstance(value, list) else [value]
        return [*words, "--", *positional]


def tools(cli: click.Command) -> dict[str, McpTool]:
    """All tools, keyed by name. cli: `rocm-perf` itself."""
    return {name: _tool(cli, name, words.split()) for name, words in _COMMANDS.items()}


def _tool(cli: click.Command, name: str, words: Sequence[str]) -> McpTool:
    command = cli
    for word in words:
        subcommand = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        if subcommand is None:
            raise LookupError(f"there is no command `rocm-perf {' '.join(words)}`")
        command = subcommand
    return McpTool(name, tuple(words), command, dict(_parameters_by_name(command.params)))


def _parameters_by_name(parameters: Sequence[click.Parameter]) -> Iterator[tuple[str, click.Parameter]]:
    """Options by their long names, such as `max_iters` for --max-iters; arguments by their own names."""
    for parameter in parameters:
        if parameter.name not in _NOT_FOR_TOOLS | _THE_USERS | _RARE:
            name = _long_name(parameter).removeprefix("--") if isinstance(parameter, click.Option) else parameter.name or ""
            yield name.replace("-", "_"), parameter


def _long_name(option: click.Option) -> str:
    return next(word for word in option.opts if word.startswith("--"))


def _option_words(option: click.Option, value: Any) -> list[str]:
    if option.is_flag:
        off = option.secondary_opts
        return [_long_name(option)] if value else [off[0]] if off else []
    return [f"{_long_name(option)}={item}" for item in (value if isinstance(value, list | tuple) else [value])]


def _is_required(parameter: click.Parameter) -> bool:
    """Whether the parameter is required. click does not know whether a program is required: it is, unless its metavar (shown
    in the usage) is in brackets.
    """
    if isinstance(parameter, click.Argument) and parameter.nargs == -1:
        return not (parameter.metavar or "").startswith("[")
    return parameter.required


def _schema(parameter: click.Parameter) -> dict[str, Any]:
    schema = _type(parameter)
    if parameter.multiple if isinstance(parameter, click.Option) else parameter.nargs == -1:
        schema = {"type": "array", "items": schema} | ({"minItems": 1} if _is_required(parameter) else {})
    if isinstance(parameter, click.Option):
        schema["description"] = parameter.help or ""
        default = parameter.default
        if isinstance(default, str | int | float | Path) and not (default is False or str(default) == "."):
            schema["default"] = str(default) if isinstance(default, Path) else default
    else:
        schema["description"] = (parameter.metavar or parameter.name or "").strip("[]") + ", as separate words"
        if parameter.nargs != -1:
            schema["description"] = f"The {parameter.name} file."
    return schema


def _type(parameter: click.Parameter) -> dict[str, Any]:
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return {"type": "boolean"}
    kind = parameter.type
    if isinstance(kind, click.Choice):
        return {"enum": [str(choice) for choice in kind.to_info_dict()["choices"]]}
    if isinstance(kind, click.IntRange | click.FloatRange):
        return {"type": "integer" if isinstance(kind, click.IntRange) else "number"} | _range(kind)
    return dict(_TEXT)


def _range(kind: click.IntRange | click.FloatRange) -> dict[str, Any]:
    bounds = {
        "exclusiveMinimum" if kind.min_open else "minimum": kind.min,
        "exclusiveMaximum" if kind.max_open else "maximum": kind.max,
    }
    return {name: bound for name, bound in bounds.items() if bound is not None}
