"""Reads a space file, which is JSON, checks it against a schema, and turns it into a Space."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rocm_perf_lab.autotune.expression import Expression
from rocm_perf_lab.autotune.launch import LaunchShape
from rocm_perf_lab.autotune.space import Rule, Space
from rocm_perf_lab.errors import MissingInputError, SpaceError

Value = bool | int | float | str
Destination = Literal["argument", "environment", "define"]
_TYPES: dict[str, type | tuple[type, ...]] = {"int": int, "float": (int, float), "bool": bool, "str": str}
_HINT = "docs/reference/autotune.md describes space files"


class TunableParameter(BaseModel):
    """values: the choices. type: their type. default: the value in the default configuration. to: how a value is passed."""

    model_config = ConfigDict(extra="forbid", strict=True)
    values: list[Value] = Field(min_length=1, max_length=32_000)
    type: Literal["int", "float", "bool", "str"] | None = None
    default: Value | None = None
    to: Destination = "argument"

    @model_validator(mode="after")
    def _check_values(self) -> TunableParameter:
        if self.type is not None:
            for value in self.values:
                if not isinstance(value, _TYPES[self.type]) or (isinstance(value, bool) and self.type != "bool"):
                    raise ValueError(f"{value!r} is not of type {self.type}")
        _expect_words(self.values)
        if len(set(map(json.dumps, self.values))) < len(self.values):
            raise ValueError("a value is listed twice")
        if self.default is not None and self.default not in self.values:
            raise ValueError(f"default {self.default!r} is not among the values")
        return self


def _expect_words(values: Iterable[Value]) -> None:
    for value in values:
        if isinstance(value, str) and any(character == "\0" or "\ud800" <= character <= "\udfff" for character in value):
            raise ValueError(f"{value!r} cannot be passed to a program")


class LaunchDocument(BaseModel):
    """Expressions for a workgroup's threads and bytes of LDS, and for a work-item's registers."""

    model_config = ConfigDict(extra="forbid", strict=True)
    workgroup_size: str
    lds_bytes: str | None = None
    vgprs: str | None = None


class SpaceDocument(BaseModel):
    """parameters: name -> values, or name -> TunableParameter. fixed: name -> its only value. constraints: expressions."""

    model_config = ConfigDict(extra="forbid", strict=True)
    parameters: dict[str, list[Value] | TunableParameter] = Field(min_length=1)
    fixed: dict[str, Value] = {}
    constraints: list[str] = []
    launch: LaunchDocument | None = None

    @model_validator(mode="after")
    def _check_names(self) -> SpaceDocument:
        for name in (*self.parameters, *self.fixed):
            if not (name.isascii() and name.isidentifier()):
                raise ValueError(f"{name!r} is not a name (letters, digits and _)")
        _expect_words(self.fixed.values())
        if both := self.parameters.keys() & self.fixed.keys():
            raise ValueError(f"{min(both)} is both a parameter and fixed")
        return self


@dataclass(frozen=True)
class SpaceFile:
    """defaults: None unless every parameter has one. destinations: how parameters are passed; fixed values are arguments."""

    space: Space
    fixed: dict[str, Value]
    destinations: dict[str, Destination]
    defaults: dict[str, Value] | None
    launch: LaunchShape | None = None


def read_space(path: Path) -> SpaceFile:
    """Read a space file. Raises MissingInputError; SpaceError if it is not a space file, or has no valid configuration."""
    try:
        content = json.loads(path.read_text("utf-8"), object_pairs_hook=_refuse_repeated_keys)
        document = SpaceDocument.model_validate(content)
    except OSError as error:
        raise MissingInputError(f"{path} cannot be read ({error.strerror})", "check the path given to --space") from error
    except ValidationError as error:
        raise SpaceError(f"{path}: {_first_complaint(error)}", _HINT) from error
    except (ValueError, RecursionError) as error:
        raise SpaceError(f"{path} cannot be read as JSON ({error})", _HINT) from error
    parameters = _parameters(path, document)
    known = parameters.keys() | document.fixed.keys()
    rules = []
    for text in document.constraints:
        expression = Expression(text, dict.fromkeys(known))
        rules.append(Rule(frozenset(expression.names), expression))
    space = Space({name: parameter.values for name, parameter in parameters.items()}, rules, document.fixed)
    if space.is_empty():
        raise SpaceError(f"{path}: no configuration satisfies all constraints", "relax one of them")
    defaults = {name: parameter.default for name, parameter in parameters.items() if parameter.default is not None}
    destinations = {name: parameter.to for name, parameter in parameters.items()}
    launch = _launch(document, dict.fromkeys(known))
    return SpaceFile(space, document.fixed, destinations, defaults if len(defaults) == len(parameters) else None, launch)


def _launch(document: SpaceDocument, known: dict[str, None]) -> LaunchShape | None:
    launch = document.launch
    if launch is None:
        return None
    lds, vgprs = (None if text is None else Expression(text, known) for text in (launch.lds_bytes, launch.vgprs))
    return LaunchShape(Expression(launch.workgroup_size, known), lds, vgprs)


def _parameters(path: Path, document: SpaceDocument) -> dict[str, TunableParameter]:
    parameters = {}
    for name, definition in document.parameters.items():
        try:
            parameters[name] = TunableParameter(values=definition) if isinstance(definition, list) else definition
        except ValidationError as error:
            raise SpaceError(f"{path}: parameters.{name}: {_first_complaint(error)}", _HINT) from error
    return parameters


def _refuse_repeated_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Refuse repeated keys; Python's JSON reader would silently use the last one."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return mapping


def _first_complaint(error: ValidationError) -> str:
    """The first complaint, ignoring those about a form of the value that the user did not intend."""
    complaints = [
        complaint for complaint in error.errors() if complaint["type"] not in ("list_type", "model_type")
    ] or error.errors()
    # If a value may have several forms, pydantic adds the form's name to the location, such as list[...]; it has brackets.
    where = ".".join(part for part in map(str, complaints[0]["loc"]) if "[" not in part)
    problem = (
        "unknown key" if complaints[0]["type"] == "extra_forbidden" else complaints[0]["msg"].removeprefix("Value error, ")
    )
    return f"{where}: {problem}" if where else problem
