"""Building blocks for the JSON in journals and command output: models with a fixed set of fields, and text of arbitrary bytes.

The documents of a run directory follow rules of their own; see report.section_base.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic_core import core_schema

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue

Model = TypeVar("Model", bound=BaseModel)
_CHANGE = "change"


class _AnyText:
    """Text that may contain surrogates, which stand for bytes that are not UTF-8. Pydantic's own str would reject them."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        written = core_schema.plain_serializer_function_ser_schema(_serialized_string, info_arg=True)
        return core_schema.no_info_plain_validator_function(_text, serialization=written)

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: core_schema.CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string"}


class _AnyScalar:
    """A scalar that keeps its type. A plain union of int, float and str would read "1" as a number."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(_scalar)

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: core_schema.CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": ["boolean", "number", "string"]}


Scalar = Annotated[bool | int | float | str, _AnyScalar]
"""A value chosen by the user, exactly as it was given."""

Text = Annotated[str, _AnyText]
"""Text whose bytes come from elsewhere, such as file names and the output of other programs."""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("it is not text")
    return value


def _scalar(value: object) -> bool | int | float | str:
    if not isinstance(value, bool | int | float | str):
        raise ValueError("it is not a number, a text, true or false")
    return value


def _serialized_string(value: str, info: SerializationInfo) -> str:
    change: Callable[[str], str] | None = (info.context or {}).get(_CHANGE)
    return change(value) if change else value


TOLERANT = ConfigDict(extra="ignore", defer_build=True, json_schema_extra={"additionalProperties": False})
"""For models that are read back: fields that another version wrote are ignored, and this version writes none of them."""


class JsonModel(BaseModel):
    """An object that always has all its fields. The description of a nullable field says when it is null."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, protected_namespaces=(), defer_build=True)

    def as_json(self) -> Any:
        """The model as JSON values, in field order."""
        return self.model_dump(mode="json")


class SparseModel(JsonModel):
    """An object that omits fields that were not set; the description of each such field says when that happens."""

    model_config = TOLERANT

    @model_serializer(mode="wrap")
    def _given_ones(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in serialize(self).items() if name in self.model_fields_set}


def json_text(model: BaseModel) -> str:
    """The JSON text as commands print it."""
    return json.dumps(model.model_dump(mode="json"), indent=2, allow_nan=False)


def with_texts_changed(model: Model, change: Callable[[str], str]) -> Model:
    """A copy of the model with `change` applied to every Text in it; field names and fixed choices stay unchanged."""
    return type(model).model_validate(model.model_dump(mode="json", context={_CHANGE: change}))
