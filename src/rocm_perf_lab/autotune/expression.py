"""Constraints: a small subset of Python expressions, evaluated by walking the syntax tree. Nothing is ever passed to eval().

Allowed: numbers, strings, parameters, arithmetic, comparisons, `and`, `or`, `not`, `a if c else b`, `in (..)`, min, max, abs.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from rocm_perf_lab.errors import SpaceError

_MAX_LENGTH = 2000
_MAX_VALUE = 1 << 1024  # Anything larger is a mistake, and would cost time and memory.
_MAX_SHIFT = 64

Values = Mapping[str, object]
Evaluator = Callable[[Values], object]
_Operation = Callable[..., Any]  # usually applied to numbers; operands that do not fit raise TypeError

_ARITHMETIC: dict[type[ast.AST], _Operation] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
}  # fmt: skip
_BOUNDED = (ast.Pow, ast.LShift, ast.RShift)
_COMPARISON: dict[type[ast.AST], _Operation] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
_UNARY: dict[type[ast.AST], _Operation] = {ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos}
_FUNCTIONS: dict[str, _Operation] = {"min": min, "max": max, "abs": abs}


class Expression:
    """names: the parameters that it uses. Raises SpaceError if the text is not an expression or names an unknown parameter."""

    def __init__(self, text: str, known: Mapping[str, object]):
        self.text = text
        self.names: set[str] = set()
        self._known = known
        if len(text) > _MAX_LENGTH:
            raise self._error(f"is longer than {_MAX_LENGTH} characters")
        try:
            tree = ast.parse(text.strip(), mode="eval")
            self._evaluate = self._compile(tree.body)
        except SyntaxError as error:
            raise self._error(f"is not an expression ({error.msg})") from error
        except (RecursionError, MemoryError, ValueError) as error:
            raise self._error("is nested too deeply or cannot be read") from error

    def __call__(self, values: Values) -> bool:
        """Whether the constraint holds. Raises SpaceError if it cannot be evaluated, for example if it divides by zero."""
        return bool(self.value(values))

    def value(self, values: Values) -> object:
        try:
            return self._evaluate(values)
        except (ArithmeticError, TypeError, ValueError) as error:
            point = ", ".join(f"{name}={values[name]!r}" for name in sorted(self.names))
            raise self._error(f"cannot be evaluated at {point} ({error})") from error

    def _error(self, problem: str) -> SpaceError:
        return SpaceError(f"expression {self.text!r} {problem}", "use parameters, numbers, arithmetic and comparisons")

    def _compile(self, node: ast.expr) -> Evaluator:
        method: Callable[[ast.expr], Evaluator] | None = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            raise self._error(f"uses {type(node).__name__}, which constraints may not use")
        return method(node)

    def _operator(self, table: Mapping[type[ast.AST], _Operation], node: ast.AST) -> _Operation:
        if type(node) not in table:
            raise self._error(f"uses {type(node).__name__}, which constraints may not use")
        return table[type(node)]

    def _Constant(self, node: ast.Constant) -> Evaluator:
        if not isinstance(node.value, (int, float, str)):
            raise self._error(f"uses the constant {node.value!r}")
        return lambda values: node.value

    def _Name(self, node: ast.Name) -> Evaluator:
        if node.id not in self._known:
            raise self._error(f"names {node.id}, which is not a parameter")
        self.names.add(node.id)
        return operator.itemgetter(node.id)

    def _BinOp(self, node: ast.BinOp) -> Evaluator:
        apply, left, right = self._operator(_ARITHMETIC, node.op), self._compile(node.left), self._compile(node.right)
        bounded = isinstance(node.op, _BOUNDED)

        def evaluate(values: Values) -> int | float:
            a, b = _number(left(values)), _number(right(values))
            if bounded and abs(b) > _MAX_SHIFT:
                raise ValueError(f"{b} is too large an exponent")
            return _number(apply(a, b))

        return evaluate

    def _UnaryOp(self, node: ast.UnaryOp) -> Evaluator:
        apply, operand = self._operator(_UNARY, node.op), self._compile(node.operand)
        return lambda values: apply(operand(values))

    def _BoolOp(self, node: ast.BoolOp) -> Evaluator:
        parts = [self._compile(part) for part in node.values]
        which = all if isinstance(node.op, ast.And) else any
        return lambda values: which(part(values) for part in parts)

    def _Compare(self, node: ast.Compare) -> Evaluator:
        parts = [self._compile(part) for part in (node.left, *node.comparators)]
        compare = [self._operator(_COMPARISON, op) for op in node.ops]

        def evaluate(values: Values) -> bool:
            operands = [part(values) for part in parts]
            return all(apply(a, b) for apply, (a, b) in zip(compare, pairwise(operands), strict=True))

        return evaluate

    def _IfExp(self, node: ast.IfExp) -> Evaluator:
        test, body, other = map(self._compile, (node.test, node.body, node.orelse))
        return lambda values: body(values) if test(values) else other(values)

    def _Tuple(self, node: ast.Tuple | ast.List) -> Evaluator:
        parts = [self._compile(part) for part in node.elts]
        return lambda values: tuple(part(values) for part in parts)

    _List = _Tuple

    def _Call(self, node: ast.Call) -> Evaluator:
        if not isinstance(node.func, ast.Name) or node.func.id not in _FUNCTIONS or node.keywords:
            raise self._error("calls something other than min, max or abs")
        apply, parts = _FUNCTIONS[node.func.id], [self._compile(part) for part in node.args]
        return lambda values: apply(*(part(values) for part in parts))


def _number(value: object) -> int | float:
    if not isinstance(value, (int, float)):
        raise TypeError(f"{value!r} is not a number")
    if isinstance(value, int) and abs(value) > _MAX_VALUE:
        raise ValueError("the result is too large")
    return value
