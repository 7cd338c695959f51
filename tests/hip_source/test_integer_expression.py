"""Integer arithmetic against the compiler's own constant evaluation."""

from __future__ import annotations

import itertools
import random
import subprocess

import pytest

from rocm_perf_lab.gate.source.launch_shape_reader import UnreadableShapeError, read_shape
from rocm_perf_lab.hip_source.integer_expression import (
    INT,
    LONG,
    UNSIGNED,
    UNSIGNED_LONG,
    Constant,
    Expression,
    IntegerType,
    LaunchArgument,
    NoValueError,
    converted,
    in_source,
    operation,
    value_of,
)

TYPES = (INT, UNSIGNED, LONG, UNSIGNED_LONG, IntegerType(16, True), IntegerType(16, False))
ARGUMENTS = [LaunchArgument(position, type_, type_, f"a{position}") for position, type_ in enumerate(TYPES)]
EDGES = (0, 1, 2, 3, 63, 64, 255, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, -1, -2, -(2**31))


def drawn(random: random.Random, depth: int = 0) -> Expression:
    if depth > 3 or random.random() < 0.3:
        return random.choice([*ARGUMENTS, Constant(random.choice([1, 3, 64, 256]), random.choice(TYPES[:4]))])
    return operation(random.choice("+-*/%"), drawn(random, depth + 1), drawn(random, depth + 1))


def test_values_equal_what_the_compiler_computes(hipcc, tmp_path):
    """Each expression with a value has the same value as a constant expression of its own type; overflow is no constant
    there."""
    source, chosen = (
        ["template <class A, class B> constexpr bool same = false; template <class A> constexpr bool same<A, A> = true;"],
        0,
    )
    generator = random.Random(3)
    while chosen < 400:
        expression = drawn(generator)
        values = {one: generator.choice([v for v in EDGES if one.type.holds(v)]) for one in ARGUMENTS}
        try:
            value = value_of(expression, values.__getitem__)
        except NoValueError:
            continue
        chosen += 1
        names = "".join(f"constexpr {one.type} {one.name} = static_cast<{one.type}>({text(v)}); " for one, v in values.items())
        whole = in_source(expression)
        source.append(
            f"namespace n{chosen} {{ {names}static_assert(({whole}) == static_cast<{expression.type}>({text(value)}));"
        )
        promoted = expression.type if expression.type.bits >= 32 else None
        source.append(f"static_assert(same<decltype(({whole}) + 0), {promoted}>);" if promoted else "")
        source.append("}")
    file = tmp_path / "values.cpp"
    file.write_text("\n".join(source))
    done = subprocess.run(["hipcc", "-x", "c++", "-fsyntax-only", "-w", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


def text(value: int) -> str:
    return f"{value}" if -(2**31) < value < 2**31 else f"({value + 1}l - 1)" if value < 2**63 - 1 else f"{value}ul"


@pytest.mark.parametrize(
    "words, values",
    [
        ("n * 65536", (65536,)),  # overflows int
        ("64 / n", (0,)),
        ("64 % n", (0,)),
        ("u - 65", (64,)),  # wraps around as an unsigned number
        ("n * 1u", (-1,)),  # converts to a large unsigned number
    ],
)
def test_an_expression_that_wraps_or_is_undefined_has_no_value(words, values):
    names = {"n": LaunchArgument(0, INT, INT, "n"), "u": LaunchArgument(1, UNSIGNED, UNSIGNED, "u")}
    tokens = words.split()
    shape = read_shape([*tokens, ",", "64"], names, [])
    for value in values:
        with pytest.raises(NoValueError):
            value_of(shape.groups[0], lambda _, value=value: value)


@pytest.mark.parametrize(
    "words",
    [
        "n ++ , 64", "n = 4 , 64", "f ( n ) , 64", "n ? 1 : 2 , 64", "( n , 4 ) , 64", "m , 64", "- n , 64", "* n , 64",
        "0x40 , 64", "n >> 2 , 64", "n , 64 , 0 , s", "n", "n , 64 , 0 , s , 1", "dim3 ( n , 1 , 1 , 1 ) , 64",
        "dim3 { n } , 64", ", 64", "n + , 64", "( n , 64", "n ) , 64", "sizeof ( n ) , 64", "4.0 , 64", "'a' , 64",
        "# define n 4 , 64", "[ ] { return n ; } ( ) , 64", "n < 4 , 64", "n && 4 , 64", "9223372036854775808 , 64",
        "010 , 64", "n 4 , 64", " ".join("(" * 40) + " n " + " ".join(")" * 40) + " , 64", " + ".join("n" * 200) + " , 64",
    ],
)  # fmt: skip
def test_anything_but_arithmetic_is_refused(words):
    with pytest.raises(UnreadableShapeError):
        read_shape(words.split(), {"n": LaunchArgument(0, INT, INT, "n")}, [])


def test_text_and_meaning_agree_however_operators_nest():
    """The text that the gate writes for an expression is parsed as the same expression again."""
    names = {one.name: one for one in ARGUMENTS}
    generator = random.Random(5)
    for expression in itertools.islice(iter(lambda: drawn(generator), None), 300):
        words = in_source(expression)
        for sign in "()+-*/%":
            words = words.replace(sign, f" {sign} ")
        assert read_shape([*words.split(), ",", "64"], names, []).groups[0] == converted(expression, UNSIGNED)
