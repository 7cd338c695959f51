"""Writes the generated pages of the reference: `python -m rocm_perf_lab.cli.reference`, run in the repository.

Options, help texts, exit codes and JSON fields come from the definitions that the program itself uses.
"""

from __future__ import annotations

import re
import sys
import types
import typing
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import click

from rocm_perf_lab.cli import COMMANDS, cli
from rocm_perf_lab.cli.json_documents import FILES, PRINTED, PRINTED_INSTEAD
from rocm_perf_lab.errors import exit_codes

if typing.TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    Titles = dict[type[BaseModel], str]

_GENERATED = "<!-- Made by `python -m rocm_perf_lab.cli.reference`, not by hand. -->"
_RULES = """Options of rocm-perf come before the program; the words after it are the program's. An error is one line on stderr,
`rocm-perf: error: what; what to do`, and an exit code. With `--json`, stdout is one JSON value and nothing else; progress is
reported on stderr. Every command has `--help`, and most have `--debug`, which shows the traceback of an error."""
_DOCUMENTS_HEAD = """The files of a run directory, which `rocm-perf profile --json` and `rocm-perf analyze --json` also print.
null means unknown: the reason is in `reasons` of the same object, under the field's name. `rocm-perf schema NAME` prints the
JSON Schema of a file or of what a command prints; `rocm-perf schema` lists the names."""
_PRINTED_HEAD = """What each command prints with `--json`, followed by the objects that these documents contain. If a field can
be null, its meaning says when."""
_DOCUMENTS_RULES = """Rules for the files:

- Unknown is null, never 0. An object with a null field also has `reasons`: field name -> why it is null.
- Units are the last part of a name: `_ns`, `_ms`, `_gbps` (10⁹ bytes per second), `_mhz`, `_bytes`. Fractions are 0 to 1.
- The same trace gives the same bytes. Two runs of a program on the software device differ only in `profile.run`.
- Within `schema_version` "1.0", fields may be added but are never renamed."""
_CODES_HEAD = """`rocm-perf run` passes on the program's own exit code."""
# Hand-written pages that say more about a command than its help text.
_PAGES = {
    "profile": "profiling.md#profile",
    "analyze": "profiling.md#analyze",
    "compare": "profiling.md#compare",
    "ci": "../guide/ci.md",
    "explain": "bottlenecks.md",
    "export": "profiling.md#export",
    "report": "profiling.md#the-run-directory",
    "source": "profiling.md#source",
    "run": "profiling.md#run",
    "isolate": "profiling.md#isolate-and-replay",
    "replay reserve-check": "profiling.md#isolate-and-replay",
    "replay full-vm": "profiling.md#isolate-and-replay",
    "replay export": "profiling.md#isolate-and-replay",
    "optimize": "optimizing.md#optimize",
    "prompt": "optimizing.md#prompt",
    "gate": "optimizing.md#gate",
    "llm-optimize": "optimizing.md#llm-optimize",
    "autotune": "autotune.md",
    "mcp": "mcp.md",
    "ceilings": "profiling.md#ceilings",
}
_DEBUG = "debug"


def _skill_page(command: str) -> str:
    """A page about one command, for agents."""
    return _page(f"# rocm-perf {command}", _RULES, *(_command(named) for named in every_command() if _top(named) == command))


def _top(named: tuple[str, click.Command]) -> str:
    return named[0].split()[0]


def _skill_documents() -> str:
    titles = _files()
    return _page("# Files of a run directory", _DOCUMENTS_HEAD, *_sections(titles, list(titles)))


def _skill_commands() -> str:
    rows = [f"| [`{name}`]({name.split()[0]}.md) | {_first_sentence(command)} |" for name, command in every_command()]
    return _page("# Commands", "\n".join(["| Command | What it does |", "|---|---|", *rows]))


def commands_page() -> str:
    commands = [_command(named, _PAGES.get(named[0])) for named in every_command()]
    return _page("# Commands", _RULES, _overview(), *commands)


def exit_codes_page() -> str:
    line = "An error is one line on stderr that begins with `rocm-perf: error:` and says what to do."
    return _page("# Exit codes", f"{line} {_CODES_HEAD}", _codes())


def documents_page() -> str:
    titles = _files()
    files = list(_sections(titles, list(titles)))
    printed = {document.model: f"JSON of {command}" for command, document in (PRINTED | PRINTED_INSTEAD).items()}
    titles |= {model: title for model, title in printed.items() if model not in titles}
    commands = ["## What commands print", _PRINTED_HEAD, *_sections(titles, list(printed))]
    return _page("# JSON documents", _DOCUMENTS_HEAD, _DOCUMENTS_RULES, *files, *commands)


_SKILL = "skill/rocm-perf/references"
PAGES: dict[str, Callable[[], str]] = {
    f"{_SKILL}/commands.md": _skill_commands,
    f"{_SKILL}/exit-codes.md": exit_codes_page,
    f"{_SKILL}/documents.md": _skill_documents,
    **{f"{_SKILL}/{name}.md": partial(_skill_page, name) for name in COMMANDS},
    "docs/reference/commands.md": commands_page,
    "docs/reference/exit-codes.md": exit_codes_page,
    "docs/reference/json.md": documents_page,
}


def _page(title: str, *parts: str) -> str:
    return "\n\n".join([title, _GENERATED, *parts]) + "\n"


def every_command() -> list[tuple[str, click.Command]]:
    commands: list[tuple[str, click.Command]] = []
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        if command is None:
            continue
        inner = command.commands.items() if isinstance(command, click.Group) else ()
        commands += [(f"{name} {part}", subcommand) for part, subcommand in inner] or [(name, command)]
    return commands


def _overview() -> str:
    rows = [f"| [`{name}`](#{name.replace(' ', '-')}) | {_first_sentence(command)} |" for name, command in every_command()]
    return "\n".join(["| Command | What it does |", "|---|---|", *rows])


def _first_sentence(command: click.Command) -> str:
    first = re.split(r"(?<=[.?])\s|:\s", _line(command.help or ""))[0]
    return _cell(first if first.endswith(("?", ".")) else f"{first}.")


def _command(named: tuple[str, click.Command], more: str | None = None) -> str:
    name, command = named
    words = [_metavar(parameter) for parameter in command.params if isinstance(parameter, click.Argument)]
    usage = f"    rocm-perf {name} [OPTIONS] {' '.join(words)}".rstrip()
    text = "\n\n".join(_line(paragraph) for paragraph in (command.help or "").strip().split("\n\n"))
    parts = [f"### {name}", usage, f"{text} [More]({more})" if more else text]
    rows = [
        _option(parameter) for parameter in command.params if isinstance(parameter, click.Option) and parameter.name != _DEBUG
    ]
    if rows:
        parts.append("\n".join(["| Option | Meaning |", "|---|---|", *rows]))
    if name in PRINTED:
        parts.append("\n".join(_fields(PRINTED[name].model)))
    return "\n\n".join(parts)


def _fields(model: type[BaseModel]) -> Iterator[str]:
    """A table of the object's fields; for an array, the fields of its objects; for a union, the fields of its first type."""
    annotation: object = model.model_fields["root"].annotation if "root" in model.model_fields else model
    is_array = typing.get_origin(annotation) is list
    yield f"| Field of {'each object in its JSON array' if is_array else 'its JSON'} | Meaning |"
    yield "|---|---|"
    for name, field in next(_models(annotation)).model_fields.items():
        if not _is_inherited(name, field):
            yield f"| `{name}` | {_cell(field.description or '')} |"


def _metavar(argument: click.Argument) -> str:
    return argument.metavar or (argument.name or "").upper()


def _option(option: click.Option) -> str:
    names = ", ".join(f"`{word}`" for word in [*option.opts, *option.secondary_opts])
    value = "" if option.is_flag else f" {_value(option)}"
    text, _, default = (option.help or "").removesuffix("]").partition("  [default: ")
    notes = [_line(text).rstrip(".")]
    if default:
        notes.append("Default: " + re.sub(r"\S*<\S*[^\s,]", r"`\g<0>`", default))
    if option.required:
        notes.append("Required")
    if option.show_default and option.default is not None:
        notes.append(f"Default: {_default(option)}")
    return f"| {names}{_cell(value)} | {_cell('. '.join(notes))}. |"


def _value(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        *choices, last = map(str, option.type.choices)
        return f"{', '.join(choices)} or {last}" if choices else last
    kinds = ((click.IntRange, "N"), (click.FloatRange, "NUMBER"))
    return option.metavar or next((word for kind, word in kinds if isinstance(option.type, kind)), option.type.name.upper())


def _default(option: click.Option) -> str:
    if not option.is_flag:
        return f"`{option.default}`"
    return "on" if option.default else "off"


def _codes() -> str:
    rows = [f"| {code} | {_cell(meaning)} |" for code, meaning in exit_codes()]
    return "\n".join(["<!-- exit codes -->", "| Code | Meaning |", "|---|---|", *rows])


def _files() -> Titles:
    from rocm_perf_lab.report.schema import ThreadTraceDocument

    return {file.model: f"{name}.json" for name, file in FILES.items()} | {ThreadTraceDocument: "thread_trace"}


def _sections(titles: Titles, todo: list[type[BaseModel]]) -> Iterator[str]:
    """A section for each model in `todo`, then one for each kind of object that they contain. titles: the title of each model
    that has a section; new models are added.
    """
    for model in todo:
        new_models = [
            nested for field in model.model_fields.values() for nested in _models(field.annotation) if nested not in titles
        ]
        titles |= {nested: nested.__name__ for nested in new_models}
        todo += dict.fromkeys(new_models)
        yield "\n".join([f"### {titles[model]}", *_paragraph(model), "", *_content(model, titles)])


def _content(model: type[BaseModel], titles: Titles) -> Iterator[str]:
    if "root" in model.model_fields:
        text = _type(model.model_fields["root"].annotation, titles)
        yield f"{text[0].upper()}{text[1:]}."
        return
    yield "| Field | Type | Meaning |"
    yield "|---|---|---|"
    for name, field in model.model_fields.items():
        if not _is_inherited(name, field):
            yield f"| `{name}` | {_cell(_type(field.annotation, titles))} | {_cell(field.description or '')} |"


def _is_inherited(name: str, field: FieldInfo) -> bool:
    """Whether this is the `reasons` field that all objects in files share; documents that commands print may define others."""
    return name == "reasons" and field.default_factory is not None


def _paragraph(model: type) -> list[str]:
    """The class docstring, reduced to what it says about the object rather than the code."""
    text = _line(model.__dict__.get("__doc__") or "").partition(". ")[0].rstrip(".")
    text = text.partition(": ")[2] or text
    return ["", f"{text[0].upper()}{text[1:]}."] if text else []


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    from pydantic import BaseModel

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from _models(inner)


def _type(annotation: object, titles: Titles) -> str:
    """The type in JSON terms: 'array of number', '`a` or `b`', 'string or null'; a model as a link to its section."""
    simple_types: dict[object, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
    if annotation in simple_types:
        return simple_types[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return " or ".join(f"`{value}`" for value in inner)
    if origin is typing.Annotated:
        return _type(inner[0], titles)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_type(member, titles) for member in inner)
    if origin is dict:
        return f"object of {_type(inner[1], titles)}"
    if origin in (list, tuple):
        return f"array of {_type(inner[0], titles)}"
    title = next(title for model, title in titles.items() if model is annotation)
    anchor = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
    return f"[{title}](#{anchor})"


def _line(text: str) -> str:
    return " ".join(text.replace("\b", " ").split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(repository: Path) -> None:
    for path, page in PAGES.items():
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_bytes(page().encode())


if __name__ == "__main__":
    main(Path(*sys.argv[1:2]))
