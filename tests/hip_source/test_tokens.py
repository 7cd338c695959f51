"""Tokens and directives, checked against the language's translation phases ([lex.phases])."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocm_perf_lab.hip_source import read
from rocm_perf_lab.hip_source.tokens import END_OF_DIRECTIVE, first_difference, line_of, tokens_of

pytestmark = pytest.mark.usefixtures("hipcc")
COMMAND = ("hipcc", "-nogpuinc", "--offload-arch=gfx942")
WORDS = ("int a", "= 1;", "/* c */", "// c\n", "\n", "\n#define X 1\n", "\n # /* c */ undef X\n", "\\\n", "/*\n*/", "\t", '"s # s"',
         "'#'", "\n#pragma once\n", "\n%:define Y\n", "x", ";", "/* \n # define */", "\n/**/#define Z\n")  # fmt: skip


def unit(text: str):
    return read(Path("x.hip"), COMMAND, text=text.encode())


def tokens(text: str):
    """Whether it compiles does not matter to a lexer, since nothing inside a conditional that is never taken is compiled."""
    source = unit("#if 0\n" + text + "\n#endif\n")
    return tokens_of(source.device)[4:-3]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_directives_begin_and_end_where_the_preprocessor_sees_them(words):
    text = "".join(words)
    found = tokens(text)
    logical = re.sub(r"\\\n", "", text)
    logical = re.sub(r"/\*.*?\*/|//[^\n]*|(\"[^\"]*\"|'[^']*')", lambda m: m[1] or " ", logical, flags=re.S)
    lines = [line.strip() for line in logical.split("\n") if line.strip()]
    expected = sum(line.startswith(("#", "%:")) for line in lines)
    assert sum(token.kind == END_OF_DIRECTIVE for token in found) == expected, text
    assert all(token.text for token in found if token.kind != END_OF_DIRECTIVE)


def test_tokens_have_their_positions():
    text = "int a = 1; // one\nint b /* two */ = 2;\n"
    source = unit(text)
    found = tokens_of(source.device)
    assert [token.text for token in found] == ["int", "a", "=", "1", ";", "int", "b", "=", "2", ";"]
    assert all(text.encode()[token.start : token.end].decode() == token.text for token in found)
    assert [token.line for token in found] == [1] * 5 + [2] * 5 and line_of(text.encode(), found[5].start) == 2
    part = tokens_of(source.device, found[5].start, found[8].end)
    assert [token.text for token in part] == ["int", "b", "=", "2"]


def test_the_first_difference_is_found_whichever_is_longer():
    one, other = (tokens_of(unit(text).device) for text in ("int a; int b;", "int a; int c;"))
    a, b = first_difference(one, other)
    assert (a.text, b.text) == ("b", "c")
    assert first_difference(one, one) is None
    longer = first_difference(one, one[:3])
    assert longer[0].text == "int" and longer[1] is None and first_difference(one[:3], one)[0] is None
