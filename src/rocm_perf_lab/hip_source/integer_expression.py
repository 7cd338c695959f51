"""C++ integer arithmetic over the arguments of a launch: its value, and its source text.

Overflow is treated as undefined here, even where C++ defines it: a launch that relies on overflow is not understood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

ARITHMETIC = ("+", "-", "*", "/", "%")
_PRODUCTS = ("*", "/", "%")


@dataclass(frozen=True)
class IntegerType:
    bits: int
    signed: bool

    def holds(self, value: int) -> bool:
        minimum, maximum = (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1) if self.signed else (0, (1 << self.bits) - 1)
        return minimum <= value <= maximum

    def holds_all_of(self, other: IntegerType) -> bool:
        minimum, maximum = (
            (-(1 << (other.bits - 1)), (1 << (other.bits - 1)) - 1) if other.signed else (0, (1 << other.bits) - 1)
        )
        return self.holds(minimum) and self.holds(maximum)

    @property
    def suffix(self) -> str:
        """The suffix of a literal of this type."""
        return ("" if self.signed else "u") + ("l" if self.bits == 64 else "")

    def __str__(self) -> str:
        return ("" if self.signed else "unsigned ") + {8: "char", 16: "short", 32: "int", 64: "long"}[self.bits]


INT, UNSIGNED, LONG, UNSIGNED_LONG = (IntegerType(bits, signed) for bits in (32, 64) for signed in (True, False))
_TYPES_BY_NAME = {
    "short": IntegerType(16, True),
    "unsigned short": IntegerType(16, False),
    "int": INT,
    "unsigned int": UNSIGNED,
    "long": LONG,
    "unsigned long": UNSIGNED_LONG,
    "long long": LONG,
    "unsigned long long": UNSIGNED_LONG,
}


def integer_type(canonical: str) -> IntegerType | None:
    """The integer type with this canonical name, const or not; None for any other type, including bool and char."""
    return _TYPES_BY_NAME.get(canonical.removeprefix("const "))


class NoValueError(Exception):
    """Why an expression has no value for some arguments."""


@dataclass(frozen=True)
class Constant:
    value: int
    type: IntegerType


@dataclass(frozen=True)
class LaunchArgument:
    """A variable that is passed to the kernel by value.

    position: index of the kernel's parameter, from 0. type: the variable's type. stored: the parameter's type, which can hold
    all values of the variable's type or has the same number of bits. name: the variable's name at this launch.
    """

    position: int
    type: IntegerType
    stored: IntegerType
    name: str = field(compare=False)

    def passed_as(self, content: bytes) -> int:
        """The variable's value, from the bytes of the kernel's argument."""
        same = self.type.bits == self.stored.bits
        return int.from_bytes(content, "little", signed=self.type.signed if same else self.stored.signed)


@dataclass(frozen=True)
class Conversion:
    inner: Expression
    type: IntegerType


@dataclass(frozen=True)
class Operation:
    """operator: one of ARITHMETIC. type: the type in which C++ computes the result."""

    operator: str
    left: Expression
    right: Expression
    type: IntegerType


Expression = Constant | LaunchArgument | Conversion | Operation
Values = Callable[[LaunchArgument], int]


def operation(operator: str, left: Expression, right: Expression) -> Operation:
    """The operation with the type that the usual arithmetic conversions give it."""
    return Operation(operator, left, right, _common(_promoted(left.type), _promoted(right.type)))


def converted(inner: Expression, to: IntegerType) -> Expression:
    if inner.type == to:
        return inner
    if isinstance(inner, Constant) and to.holds(inner.value):
        return Constant(inner.value, to)
    return Conversion(inner, to)


def value_of(expression: Expression, values: Values) -> int:
    """The expression's value. values: returns the value of an argument. Raises NoValueError."""
    if isinstance(expression, Constant):
        return _checked_value(expression.value, expression)
    if isinstance(expression, LaunchArgument):
        return _checked_value(values(expression), expression)
    if isinstance(expression, Conversion):
        return _checked_value(value_of(expression.inner, values), expression)
    operands = (value_of(operand, values) for operand in (expression.left, expression.right))
    left, right = (_checked_value(operand, expression) for operand in operands)
    return _checked_value(_computed(expression.operator, left, right, expression), expression)


def in_source(expression: Expression, inside: str = "", right: bool = False) -> str:
    """C++ text with this value and type. inside: the operator around it. right: whether it is that operator's right operand."""
    if isinstance(expression, Constant):
        return f"{expression.value}{expression.type.suffix}"
    if isinstance(expression, LaunchArgument):
        return expression.name
    if isinstance(expression, Conversion):
        return f"static_cast<{expression.type}>({in_source(expression.inner)})"
    operator = expression.operator
    text = f"{in_source(expression.left, operator)} {operator} {in_source(expression.right, operator, right=True)}"
    weaker = inside in _PRODUCTS and operator not in _PRODUCTS
    same = bool(inside) and (inside in _PRODUCTS) == (operator in _PRODUCTS)
    return f"({text})" if weaker or (same and right) else text


def arguments_in(expression: Expression) -> Iterator[LaunchArgument]:
    if isinstance(expression, LaunchArgument):
        yield expression
    elif isinstance(expression, Conversion):
        yield from arguments_in(expression.inner)
    elif isinstance(expression, Operation):
        yield from arguments_in(expression.left)
        yield from arguments_in(expression.right)


def _checked_value(value: int, expression: Expression) -> int:
    if not expression.type.holds(value):
        raise NoValueError(f"`{in_source(expression)}` would be {value}, which {expression.type} cannot hold")
    return value


def _computed(operator: str, left: int, right: int, expression: Expression) -> int:
    if operator in ("/", "%"):
        if right == 0:
            raise NoValueError(f"`{in_source(expression)}` divides by zero")
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)  # C++ rounds towards zero
        return quotient if operator == "/" else left - quotient * right
    return left + right if operator == "+" else left - right if operator == "-" else left * right


def _promoted(type_: IntegerType) -> IntegerType:
    return INT if type_.bits < INT.bits else type_


def _common(one: IntegerType, other: IntegerType) -> IntegerType:
    bits = max(one.bits, other.bits)
    signed = all(each.signed for each in (one, other) if each.bits == bits)
    return IntegerType(bits, signed)
