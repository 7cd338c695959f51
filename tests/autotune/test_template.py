"""Command templates: words, fields and braces."""

from __future__ import annotations

import pytest

from rocm_perf_lab.autotune.template import Template, text_of
from rocm_perf_lab.errors import SpaceError


def filled(text: str, *defines: str, **values) -> list[str]:
    return Template("--cmd-template", text).fill(values, [*defines])


@pytest.mark.parametrize(
    "text, words",
    [
        ("./app {a} --b={b}", ["./app", "x y", "--b=3"]),
        ("./app '{a} {a}' \"{b}\"", ["./app", "x y x y", "3"]),
        ("./app {{a}} {} }} {{", ["./app", "{a}", "{}", "}", "{"]),
        ("{defines} app x{defines}", ["-Da=1", "-Db=2", "app", "xwhole"]),
        ("app {on}{off}", ["app", "10"]),
        ("app ${a} {a", ["app", "$x y", "{a"]),
    ],
)
def test_a_value_never_becomes_more_than_one_word(text, words):
    assert filled(text, "-Da=1", "-Db=2", a="x y", b=3, on=True, off=False, defines="whole") == words


def test_without_defines_the_placeholder_word_is_left_out():
    assert filled("cc {defines} a.c") == ["cc", "a.c"]


def test_fields_are_the_placeholders_that_have_to_be_filled():
    template = Template("--check", "app {a} {{b}} {c}{c} {} {d-e}")
    assert template.fields == {"a", "c"} and template.option == "--check"
    template.check(["c", "a", "other"])
    with pytest.raises(SpaceError) as error:
        template.check(["b"])
    assert (
        error.value.problem == "--check has the field {a}, which is not a parameter"
        and error.value.hint == "write {{a}} for braces"
    )


@pytest.mark.parametrize(
    "text, said", [("", "--check is empty"), ("  ", "--check is empty"), ("app 'a", "cannot be split into words")]
)
def test_text_that_is_not_a_command_is_refused(text, said):
    with pytest.raises(SpaceError, match=said):
        Template("--check", text)


@pytest.mark.parametrize("value, text", [(True, "1"), (False, "0"), (2, "2"), (0.5, "0.5"), ("True", "True"), (None, "None")])
def test_how_a_program_reads_a_value(value, text):
    assert text_of(value) == text
