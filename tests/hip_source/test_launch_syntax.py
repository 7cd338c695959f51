"""The shapes of launches as written in a source, found from the tokens alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.hip_source.launch_syntax import operands_of, split_launches
from rocm_perf_lab.hip_source.tokens import Token

WORD = re.compile(r"<<<|>>>|\w+|\S")


def tokens(text: str) -> list[Token]:
    return [Token(one.group(), "", one.start(), one.end(), 1) for one in WORD.finditer(text)]


@pytest.mark.parametrize(
    "text, shapes",
    [
        ("k<<<n / 2, 64>>>(a, b);", ["n / 2, 64"]),
        ("k<<<1, 2>>>(); hipLaunchKernelGGL(k, dim3(1, n), 64, 0, s, a, f(b, c));", ["1, 2", "dim3(1, n), 64, 0"]),
        ("hipLaunchKernelGGL((k<a, b>), x[1, 2], {1, 2}, 0, 0)", ["x[1, 2], {1, 2}, 0"]),
        ("hipLaunchKernelGGL(k, 1, 2, 0)", []),  # no stream
        ("hipLaunchKernelGGL; hipLaunchKernelGGL[k, 1, 2, 0, 0]", []),
        ("hipLaunchKernelGGL(k, 1, 2, 0, 0", []),
        ("k<<<1, 2", []),
        ("", []),
    ],
)  # fmt: skip
def test_shapes(text, shapes):
    rest, found = split_launches(tokens(text))
    assert [text[one.start : one.end].strip() for one in found] == shapes
    assert len(rest) + sum(len(one.tokens) for one in found) == len(tokens(text))


def test_the_arguments_of_a_macro():
    _, (found,) = split_launches(tokens("hipLaunchKernelGGL(k, 1, 2, 0, 0, a, f(b, c), d + 1)"))
    assert ["".join(token.text for token in one) for one in found.arguments] == ["a", "f(b,c)", "d+1"]


PIECES = st.lists(st.sampled_from(["<<<", ">>>", "(", ")", ",", "hipLaunchKernelGGL", "a", "[", "}"]), max_size=30)


@given(PIECES)
def test_every_token_is_in_the_rest_or_in_one_shape(pieces):
    given = tokens(" ".join(pieces))
    rest, shapes = split_launches(given)
    placed = sorted([*rest, *(token for shape in shapes for token in shape.tokens)], key=lambda one: one.start)
    assert placed == given
    assert all(token.start >= shape.start and token.end <= shape.end for shape in shapes for token in shape.tokens)


@given(PIECES)
def test_operands_are_everything_but_the_outer_commas(pieces):
    ranges = operands_of(pieces)
    commas = [one.stop for one in ranges[:-1]]
    assert sorted([*commas, *(i for one in ranges for i in one)]) == list(range(len(pieces)))
    assert all(pieces[i] == "," for i in commas)
