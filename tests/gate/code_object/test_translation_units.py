"""Which text is kept and which units differ, with a builder that makes what each case says of a text."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.gate.code_object import translation_units
from rocm_perf_lab.gate.code_object.translation_units import host_difference, makes_judged_code


class Builder:
    """Code of a unit is its text, without what is in brackets; `broken` does not compile, nor does the host's of `odd`."""

    def code_object(self, unit) -> bytes:
        if "broken" in unit.text:
            raise SourceError("it does not compile", "")
        return unit.text.partition(" [")[0].encode()

    def host(self, unit) -> bytes:
        if "odd" in unit.text:
            raise SourceError("the host does not compile", "")
        return unit.text.partition(" [")[2].encode()


def source(text: str, *others: str):
    def unit(number: int, one: str):
        return SimpleNamespace(text=one, main=SimpleNamespace(name=f"{number}.hip"))

    made = unit(0, text)
    made.other_units_of_program = tuple(unit(number, one) for number, one in enumerate(others, 1))
    return made


@pytest.fixture(autouse=True)
def _code_is_its_text(monkeypatch):
    monkeypatch.setattr(translation_units, "parse", lambda image: image.lower())
    monkeypatch.setattr(translation_units, "contents_by_symbol", lambda image: image)
    monkeypatch.setattr(translation_units, "compare_host", lambda one, other: None if one == other else "the host's differs")


@pytest.mark.parametrize(
    "text, judged, baseline, makes",
    [
        (("code [host",), ("code [other",), ("base [host",), True),
        (("Code [host",), ("code [host",), ("base [host",), False),
        (("more [host",), ("code [host",), ("base [host",), False),
        (("code [more",), ("code [host",), ("base [host",), False),
        (("broken [host",), ("code [host",), ("base [host",), False),
        (("odd [host",), ("odd [host",), ("base [host",), False),
        (("code [host", "two [h"), ("code [host", "two [x"), ("base [host", "b [h"), True),
        (("code [host", "more [h"), ("code [host", "two [x"), ("base [host", "b [h"), False),
        (("code [host", "two [more"), ("code [host", "two [x"), ("base [host", "b [h"), False),
    ],
)
def test_a_text_makes_the_judged_code_in_each_unit_or_not(text, judged, baseline, makes):
    assert makes_judged_code(source(*text), source(*judged), source(*baseline), Builder()) == makes


def test_the_judged_source_has_to_compile():
    with pytest.raises(SourceError):
        makes_judged_code(source("code [h"), source("broken [h"), source("base [h"), Builder())


@pytest.mark.parametrize(
    "candidate, said",
    [
        (("x [host", "y [two"), None),
        (("x [more", "y [two"), "the host's differs"),
        (("x [host", "y [more"), "in 1.hip: the host's differs"),
    ],
)
def test_where_the_hosts_code_differs_is_said(candidate, said):
    assert host_difference(source("a [host", "b [two"), source(*candidate), Builder()) == said
