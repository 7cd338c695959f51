"""Reads the shape that a candidate writes for a launch: arithmetic over the launch's own arguments and constants of the file.

Only the meaning of the text is used; the gate writes its own equivalent, so no text from the candidate gets into host code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rocm_perf_lab.hip_source.integer_expression import (
    INT,
    LONG,
    UNSIGNED,
    UNSIGNED_LONG,
    Constant,
    Expression,
    IntegerType,
    converted,
    operation,
)
from rocm_perf_lab.hip_source.launch_shapes import Dimensions, Shape
from rocm_perf_lab.hip_source.launch_syntax import operands_of

_LITERAL = re.compile(r"(0|[1-9](?:'?\d)*)([uU]?[lL]{0,2}|[lL]{1,2}[uU])")
_MAX_TOKENS = 200
_MAX_DEPTH = 20


class UnreadableShapeError(Exception):
    """Why the text is refused, phrased so that it can follow `its launch`."""


def read_shape(tokens: Sequence[str], names: Mapping[str, Expression], stream: Sequence[str]) -> Shape:
    """The shape that the text expresses.

    tokens: the candidate's tokens between `<<<` and `>>>`. names: the names that they may refer to. stream: the tokens of the
    baseline's fourth operand, which must be the same; empty if it has none. Raises UnreadableShapeError.
    """
    if len(tokens) > _MAX_TOKENS:
        raise UnreadableShapeError(f"has a shape of more than {_MAX_TOKENS} tokens")
    operands = [[tokens[i] for i in operand] for operand in operands_of(tokens)]
    if not 2 <= len(operands) <= 4:
        raise UnreadableShapeError(f"has {len(operands)} operands between <<< and >>>")
    if list(operands[3] if len(operands) == 4 else ()) != list(stream):
        raise UnreadableShapeError(f"is on a different stream from the baseline's `{' '.join(stream) or 'default stream'}`")
    lds = _ShapeParser(operands[2], names).number() if len(operands) > 2 else Constant(0, INT)
    groups, size = (_ShapeParser(operand, names).extent() for operand in operands[:2])
    return Shape(groups, size, converted(lds, UNSIGNED_LONG))


class _ShapeParser:
    def __init__(self, tokens: Sequence[str], names: Mapping[str, Expression]):
        self._remaining_words, self._names, self._depth = list(reversed(tokens)), names, 0

    def extent(self) -> Dimensions:
        """`dim3(x, y, z)` or a number."""
        sizes = [converted(expression, UNSIGNED) for expression in (self._dim3() if self._next() == "dim3" else [self._sum()])]
        self._expect_end()
        x, y, z = (*sizes, *[Constant(1, UNSIGNED)] * 3)[:3]
        return x, y, z

    def number(self) -> Expression:
        expression = self._sum()
        self._expect_end()
        return expression

    def _dim3(self) -> list[Expression]:
        self._take()
        self._expect("(")
        sizes = [self._sum()]
        while self._next() == "," and len(sizes) < 3:
            self._take()
            sizes.append(self._sum())
        self._expect(")")
        return sizes

    def _sum(self) -> Expression:
        expression = self._product()
        while self._next() in ("+", "-"):
            expression = operation(self._take(), expression, self._product())
        return expression

    def _product(self) -> Expression:
        expression = self._operand()
        while self._next() in ("*", "/", "%"):
            expression = operation(self._take(), expression, self._operand())
        return expression

    def _operand(self) -> Expression:
        word = self._take()
        if word == "(":
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise UnreadableShapeError("has a shape with too many parentheses")
            expression = self._sum()
            self._expect(")")
            self._depth -= 1
            return expression
        if literal := _LITERAL.fullmatch(word):
            return _constant(literal[1], literal[2].lower())
        if word in self._names:
            return self._names[word]
        known = ", ".join(self._names) or "none"
        raise UnreadableShapeError(
            f"has a shape with `{word}`: only + - * / %, parentheses, dim3, integers, the launch's own integer arguments and "
            f"constants of the file can be used (here: {known})"
        )

    def _next(self) -> str:
        return self._remaining_words[-1] if self._remaining_words else ""

    def _take(self) -> str:
        if not self._remaining_words:
            raise UnreadableShapeError("has a shape that ends too early")
        return self._remaining_words.pop()

    def _expect(self, word: str) -> None:
        if self._next() != word:
            raise UnreadableShapeError(f"has a shape with `{self._next() or 'its end'}` where `{word}` is expected")
        self._take()

    def _expect_end(self) -> None:
        if self._remaining_words:
            raise UnreadableShapeError(f"has a shape with `{self._next()}`, where it should end")


def _constant(digits: str, suffix: str) -> Constant:
    value = int(digits.replace("'", ""))
    signed, is_long = "u" not in suffix, "l" in suffix
    types: dict[tuple[bool, bool], tuple[IntegerType, ...]] = {
        (True, False): (INT, LONG),
        (True, True): (LONG,),
        (False, False): (UNSIGNED, UNSIGNED_LONG),
        (False, True): (UNSIGNED_LONG,),
    }
    fitting = next((type_ for type_ in types[signed, is_long] if type_.holds(value)), None)
    if fitting is None:
        raise UnreadableShapeError(f"has a shape with {digits}, which is too large")
    return Constant(value, fitting)
