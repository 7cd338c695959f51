"""Rules for every object in a document: no field is unknown, and every null has a reason."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from rocm_perf_lab.report.section_base import Section


class One(Section):
    a: int
    b: float | None
    c: str | None = None


def test_there_is_a_reason_for_each_null_and_reasons_come_last():
    whole = One(a=1, b=0.0, c="")
    assert whole.reasons == {} and list(whole.model_dump()) == ["a", "b", "c"]
    partly = One(reasons={"b": "unknown", "c": "none"}, a=0, b=None)
    assert json.loads(partly.model_dump_json()) == {"a": 0, "b": None, "c": None, "reasons": {"b": "unknown", "c": "none"}}
    assert list(partly.model_dump()) == ["a", "b", "c", "reasons"]
    assert One.model_validate_json(partly.model_dump_json()) == partly


@pytest.mark.parametrize(
    "given, said",
    [
        (dict(a=1, b=None, c="x"), r"null fields \['b'\] and reasons \[\] do not match"),
        (dict(a=1, b=1.0, c="x", reasons={"b": "why"}), r"null fields \[\] and reasons \['b'\] do not match"),
        (dict(a=1, b=None, reasons={"b": "why"}), r"null fields \['b', 'c'\] and reasons \['b'\] do not match"),
        (dict(a=1, b=None, c="x", reasons={"a": "why"}), r"null fields \['b'\] and reasons \['a'\] do not match"),
        (dict(a=1, b=1.0, c="x", d=1), "d\n  Extra inputs are not permitted"),
        (dict(a=1, b=float("nan"), c="x"), "b\n  Input should be a finite number"),
        (dict(a=1, b=float("inf"), c="x"), "b\n  Input should be a finite number"),
    ],
)
def test_anything_else_is_refused(given, said):
    with pytest.raises(ValidationError, match=said):
        One(**given)
