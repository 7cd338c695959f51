"""The common base of all objects in the JSON documents: it rejects unknown fields and requires a reason for every null."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator


class Section(BaseModel):
    """An object in a document. Unknown fields are refused, and every null must have a reason."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, defer_build=True)

    reasons: dict[str, str] = Field(default_factory=dict, description="field name -> why that field is null; absent if none is")

    @model_serializer(mode="wrap")
    def _reasons_last(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = serialize(self)
        reasons = fields.pop("reasons")
        return fields | ({"reasons": reasons} if reasons else {})

    @model_validator(mode="after")
    def _nulls_have_reasons(self) -> Section:
        nulls = {name for name in type(self).model_fields if getattr(self, name) is None}
        if nulls != set(self.reasons):
            raise ValueError(f"null fields {sorted(nulls)} and reasons {sorted(self.reasons)} do not match")
        return self
