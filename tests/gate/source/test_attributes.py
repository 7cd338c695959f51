"""Attributes by name and text, however they are spelled, and macros that introduce them after preprocessing."""

from __future__ import annotations

import pytest

from rocm_perf_lab.gate.source.attributes import ADDRESS_SPACES, ALLOWED, attributes
from rocm_perf_lab.gate.source.expanded_text_check import lex


def found(text: str) -> list[tuple[str, str]]:
    return list(attributes(list(lex(text.encode()))))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("int x;", []),
        ("__attribute__((used)) int x;", [("used", "used")]),
        ("__attribute((__used__))", [("used", "__used__")]),
        ("__attribute__((aligned(8), , hot))", [("aligned", "aligned(8)"), ("hot", "hot")]),
        ("__attribute__(())", []),
        ("__attribute__((a(1, (2, 3)), b))", [("a", "a(1,(2,3))"), ("b", "b")]),
        ("__attribute__((address_space(4))) int* p;", [("address_space", "address_space(4)")]),
        ("[[nodiscard]] int f();", [("nodiscard", "nodiscard")]),
        ("[[gnu::used, maybe_unused]]", [("used", "gnu::used"), ("maybe_unused", "maybe_unused")]),
        ("[[__gnu__::__used__]]", [("used", "__gnu__::__used__")]),
        ('[[clang::annotate("x")]]', [("annotate", 'clang::annotate("x")')]),
        ("[[_Clang::hot]]", [("hot", "_Clang::hot")]),
        ("[[msvc::hot]]", [("msvc::hot", "msvc::hot")]),
        ("[[using clang: hot, annotate(1)]]", [("hot", "clang::hot"), ("annotate", "clang::annotate(1)")]),
        ("[[using msvc: hot,]]", [("msvc::hot", "msvc::hot")]),
        ("[[using clang:]]", []),
        ("[[using]] [[using clang]]", [("using", "using"), ("using", "usingclang")]),
        ("[[]]", []),
        ("[[assume(x[0] == {1, 2})]]", [("assume", "assume(x[0]=={1,2})")]),
        ("[[x y: z]]", [("x", "xy:z")]),
        ("[[gnu::]]", [("gnu", "gnu::")]),
        ("[[____]] [[__a__]]", [("____", "____"), ("a", "__a__")]),
        ("[[__a]] [[a__]]", [("__a", "__a"), ("a__", "a__")]),
        ("<: <: used :> :>", [("used", "used")]),
        ("x[y[0]] [1]", []),
        ("x[ [] { return 0; }()]", [("", "")]),
    ],
)
def test_each_attribute_has_a_name_and_its_text(text, expected):
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "__attribute__ x",
        "__attribute__(used)",
        "__attribute__(x())",
        "__attribute__((used)",
        "__attribute__",
        "[[used]",
        "[[used] x]",
    ],
)
def test_an_unreadable_attribute_has_no_name(text):
    assert ("", "") in found(text)


def test_several_attributes_in_a_row():
    text = '__attribute__((hot)) void f [[gnu::cold]] (int x [[maybe_unused]]) __attribute__((section("[[x]]")));'
    assert [name for name, _ in found(text)] == ["hot", "cold", "maybe_unused", "section"]
    assert found("__attribute__(used) x [[hot]]") == [("", ""), ("hot", "hot")]


def test_allowed_attributes_promise_nothing():
    assert {"device", "aligned", "launch_bounds", "unlikely"} <= ALLOWED
    assert not ALLOWED & {
        "used",
        "section",
        "alias",
        "weak",
        "pure",
        "const",
        "noreturn",
        "assume",
        "annotate",
        "address_space",
    }
    assert {"address_space(1)", "address_space(3)", "address_space(5)"} == ADDRESS_SPACES
