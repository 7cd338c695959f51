"""What the JSON of the commands and of journals is made of: models that know all their fields, and texts of any bytes.

The documents of a run directory have rules of their own; see report.section.
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
    """str would refuse what stands for bytes that are no UTF-8, in names of files and in sources."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        written = core_schema.plain_serializer_function_ser_schema(_written, info_arg=True)
        return core_schema.no_info_plain_validator_function(_text, serialization=written)

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: core_schema.CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string"}


class _AnyScalar:
    """A union of int, float and str would take "1" for a number."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(_scalar)

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: core_schema.CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": ["boolean", "number", "string"]}


Scalar = Annotated[bool | int | float | str, _AnyScalar]
"""A value that a user chose, as it was given."""

Text = Annotated[str, _AnyText]
"""A text whose bytes come from elsewhere: names of files, words of other programs."""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("it is no text")
    return value


def _scalar(value: object) -> bool | int | float | str:
    if not isinstance(value, bool | int | float | str):
        raise ValueError("it is neither a number nor a text, true or false")
    return value


def _written(value: str, info: SerializationInfo) -> str:
    change: Callable[[str], str] | None = (info.context or {}).get(_CHANGE)
    return change(value) if change else value


TOLERANT = ConfigDict(extra="ignore", json_schema_extra={"additionalProperties": False})
"""Of what is read back: other versions may have written other fields, but this one does not."""


class JsonModel(BaseModel):
    """An object with all its fields, always. The description of one that can be null says when it is."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, protected_namespaces=())

    def as_json(self) -> Any:
        """JSON values, in the order of the fields."""
        return self.model_dump(mode="json")


class SparseModel(JsonModel):
    """An object without the fields that were not given; their descriptions say when that is."""

    model_config = TOLERANT

    @model_serializer(mode="wrap")
    def _given_ones(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in serialize(self).items() if name in self.model_fields_set}


def json_text(model: BaseModel) -> str:
    """As commands print it."""
    return json.dumps(model.model_dump(mode="json"), indent=2, allow_nan=False)


def with_texts_changed(model: Model, change: Callable[[str], str]) -> Model:
    """The same with every Text in it changed; names of fields and words of a fixed choice stay."""
    return type(model).model_validate(model.model_dump(mode="json", context={_CHANGE: change}))
