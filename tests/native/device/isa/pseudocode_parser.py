"""A Pratt parser that turns pseudo-code into closures."""

from __future__ import annotations

from collections.abc import Callable

from pseudocode_functions import CONSTANTS, FUNCTIONS
from pseudocode_storage import Bits, Break, Machine, Place, Return, Run
from pseudocode_tokens import parse_literal, split_type, tokenize
from pseudocode_values import (
    Unsupported,
    Value,
    arithmetic,
    bitwise,
    boolean,
    cast_to,
    compare,
    convert,
    negate,
    power_of,
    shift,
)

PRECEDENCE = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!=", "<>"], ["<", ">", "<=", ">="], ["<<", ">>"], ["+", "-"],
              ["*", "/", "%"]]  # fmt: skip


class Parser:
    def __init__(self, text: str):
        self.tokens = tokenize(text)
        self.at = 0

    # -- token stream --

    @property
    def word(self) -> str:
        return self.tokens[self.at][1]

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0]

    def next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][1]

    def accept(self, word: str) -> bool:
        if self.word == word and self.kind in ("op", "keyword"):
            self.at += 1
            return True
        return False

    def expect(self, word: str) -> None:
        if not self.accept(word):
            raise Unsupported(f"expected {word!r}, found {self.word!r}")

    # -- statements --

    def block(self, *ends: str) -> list[Run]:
        statements = []
        while self.kind != "end" and not (self.kind in ("keyword", "op") and self.word in ends):
            if not self.accept(";"):
                statements.append(self.statement())
        return statements

    def statement(self) -> Run:
        if self.accept("if"):
            return self.conditional()
        if self.accept("for"):
            return self.loop()
        if self.accept("declare"):
            return self.declaration()
        if self.accept("break"):
            return raise_break
        if self.accept("return"):
            value = self.expression()

            def give(m: Machine) -> None:
                raise Return(value(m))

            return give
        if self.kind == "name" and [t[1] for t in self.tokens[self.at + 1 : self.at + 3]] == ["=", "lambda"]:
            return self.function()
        return self.assignment()

    def conditional(self) -> Run:
        branches = []
        condition = self.expression()
        self.expect("then")
        branches.append((condition, self.block("elsif", "else", "endif")))
        while self.accept("elsif"):
            condition = self.expression()
            self.expect("then")
            branches.append((condition, self.block("elsif", "else", "endif")))
        otherwise = self.block("endif") if self.accept("else") else []
        self.expect("endif")

        def run(m: Machine) -> None:
            for test, body in branches:
                if test(m).truth:
                    return run_all(body, m)
            return run_all(otherwise, m)

        return run

    def loop(self) -> Run:
        name = self.next()
        self.expect("in")
        first = self.ternary()
        self.expect(":")
        last = self.ternary()
        self.expect("do")
        body = self.block("endfor")
        self.expect("endfor")

        def run(m: Machine) -> None:
            low, high = first(m), last(m)
            try:
                for i in range(low.value, high.value + 1):
                    m.state[name] = Bits(i, low.kind, 32)
                    run_all(body, m)
            except Break:
                pass

        return run

    def declaration(self) -> Run:
        name = self.next()
        self.expect(":")
        size, kind = self.next().split("'")
        count = None
        if self.accept("["):
            count = int(self.next())
            self.expect("]")

        def run(m: Machine) -> None:
            if name == "S" and count:  # the sources as an array
                m.state["S"] = [m.state[f"S{i}"] for i in range(count)]
            elif count:
                m.state[name] = [Bits(0, kind, int(size)) for _ in range(count)]
            elif name not in m.state:
                m.state[name] = Bits(0, kind, int(size))

        return run

    def function(self) -> Run:
        name = self.next()
        self.expect("=")
        self.expect("lambda")
        self.expect("(")
        parameters = []
        while not self.accept(")"):
            parameters.append(self.next())
            self.accept(",")
        self.expect("(")
        if self.kind == "keyword":
            body = self.block(")")
        else:
            value = self.expression()

            def give(m: Machine) -> None:
                raise Return(value(m))

            body = [give]
        self.expect(")")

        def run(m: Machine) -> None:
            m.functions[name] = (parameters, body)

        return run

    def assignment(self) -> Run:
        if self.word == "{":
            return self.joined_assignment()
        place = self.place()
        if self.kind == "op" and self.word in ("+=", "-="):
            op = self.next()[0]
            value = self.expression()
            return lambda m: place(m).store(arithmetic(op, place(m).load(), value(m)))
        self.expect("=")
        value = self.assigned()

        def run(m: Machine) -> Value:
            result = value(m)
            place(m).store(result)
            return result

        return run

    def assigned(self) -> Run:
        """The right side, which may itself be an assignment: EXEC[i] = D0[i] = x."""
        start = self.at
        try:
            return self.assignment()
        except Unsupported:
            self.at = start
            return self.expression()

    def joined_assignment(self) -> Run:
        self.expect("{")
        places = [self.place()]
        while self.accept(","):
            places.append(self.place())
        self.expect("}")
        self.expect("=")
        value = self.expression()

        def run(m: Machine) -> None:
            bits = value(m).value
            for place in reversed(places):
                target = place(m)
                target.store(convert(bits, "B", target.size))
                bits >>= target.size

        return run

    # -- places --

    def place(self) -> Callable[[Machine], Place]:
        if self.kind != "name":
            raise Unsupported(f"cannot assign to {self.word!r}")
        name = self.next()

        def base(m: Machine) -> Place:
            if name not in m.state:
                m.state[name] = Bits()
            storage = m.state[name]
            return storage if not isinstance(storage, Bits) else Place(storage, 0, 0, storage.kind)

        if name in CONSTANTS or self.word == "(":
            raise Unsupported(f"{name} is no place")
        return self.suffixes(base)

    def suffixes(self, base: Callable[[Machine], Place]) -> Callable[[Machine], Place]:
        while True:
            if self.kind == "type":
                base = typed(base, *split_type(self.next()))
            elif self.word == "[" and self.kind == "op":
                self.next()
                base = self.index(base)
            else:
                return base

    def index(self, base: Callable[[Machine], Place]) -> Callable[[Machine], Place]:
        first = self.expression()
        if self.accept(":"):
            last = self.expression()
            self.expect("]")
            return lambda m: cut(base(m), first(m).value, last(m).value)
        if self.accept("+:"):
            count = self.expression()
            self.expect("]")
            return lambda m: cut(base(m), first(m).value + count(m).value - 1, first(m).value)
        self.expect("]")

        def element(m: Machine) -> Place:
            whole = base(m)
            if isinstance(whole, Place):
                at = first(m).value
                return cut(whole, at, at)
            chosen = whole[first(m).value]
            return Place(chosen, 0, 0, chosen.kind) if isinstance(chosen, Bits) else chosen

        return element

    # -- expressions --

    def expression(self) -> Run:
        return self.ternary()

    def ternary(self) -> Run:
        condition = self.binary(0)
        if not self.accept("?"):
            return condition
        yes = self.ternary()
        self.expect(":")
        no = self.ternary()
        return lambda m: (yes if condition(m).truth else no)(m)

    def binary(self, level: int) -> Run:
        if level == len(PRECEDENCE):
            return self.unary()
        left = self.binary(level + 1)
        while self.kind == "op" and self.word in PRECEDENCE[level]:
            left = combine(self.next(), left, self.binary(level + 1))
        return left

    def unary(self) -> Run:
        if self.kind == "op" and self.word in ("-", "+", "~", "!"):
            op = self.next()
            if self.word == "0.0" and self.tokens[self.at + 1][1] == ")":
                self.next()
                zero = Value("Z", 1, int(op == "-"))
                return lambda m: zero
            value = self.unary()
            return lambda m: negate(op, value(m))
        base = self.postfix()
        if self.accept("**"):
            exponent = self.unary()
            return lambda m: power_of(base(m), exponent(m))
        return base

    def postfix(self) -> Run:
        if self.kind == "name" and self.word not in CONSTANTS and self.tokens[self.at + 1][1] != "(":
            place = self.place()
            return lambda m: loaded(place(m))
        value = self.primary()
        while self.kind == "type":
            value = rereading(value, *split_type(self.next()))
        return value

    def primary(self) -> Run:
        kind, word = self.kind, self.next()
        if kind == "cast":
            size, to = word.split("'")
            self.expect("(")
            value = self.expression()
            self.expect(")")
            return lambda m: cast_to(to, int(size), value(m))
        if kind in ("sized", "hex", "real", "int"):
            literal = parse_literal(kind, word)
            return lambda m: literal
        if word == "(":
            value = self.expression()
            self.expect(")")
            return value
        if word == "{":
            return self.joined()
        if kind == "name" and self.word == "(":
            return self.call(word)
        if word in CONSTANTS:
            constant = CONSTANTS[word]
            return lambda m: constant
        raise Unsupported(f"unexpected {word!r}")

    def joined(self) -> Run:
        parts = [self.expression()]
        while self.accept(","):
            parts.append(self.expression())
        self.expect("}")

        def run(m: Machine) -> Value:
            bits = size = 0
            for value in (part(m) for part in parts):
                bits, size = bits << value.size | value.bits, size + value.size
            return Value("B", size, bits)

        return run

    def call(self, name: str) -> Run:
        self.expect("(")
        arguments = []
        while not self.accept(")"):
            arguments.append(self.expression())
            self.accept(",")

        def run(m: Machine) -> Value:
            values = [argument(m) for argument in arguments]
            if name in m.functions:
                return run_function(m, *m.functions[name], values)
            if name in FUNCTIONS:
                return FUNCTIONS[name](*values)
            if m.call is None:
                raise Unsupported(f"function {name}")
            return m.call(name, values)

        return run


def raise_break(m: Machine) -> None:
    raise Break


def run_all(statements: list[Run], m: Machine) -> None:
    for statement in statements:
        statement(m)


def run_function(m: Machine, parameters: list[str], body: list[Run], values: list[Value]) -> Value:
    inner = Machine(dict(m.state), m.call, m.functions)
    for name, value in zip(parameters, values, strict=True):
        inner.state[name] = Bits(value.bits, value.kind, value.size)
    try:
        run_all(body, inner)
    except Return as result:
        return result.value
    raise Unsupported("a function without a result")


def loaded(place) -> Value:
    if isinstance(place, Value):
        return place
    if not isinstance(place, Place):
        raise Unsupported("an array where a value is expected")
    return place.load()


def typed(base: Callable[[Machine], Place], kind: str, size: int) -> Callable[[Machine], Place]:
    def run(m: Machine) -> Place:
        place = base(m)
        if place.size and place.size < size:  # a slice read as a wider type is zero-extended
            return Place(Bits(place.storage.get(place.offset, place.size)), 0, size, kind)
        return Place(place.storage, place.offset, size, kind)

    return run


def cut(place: Place, high: int, low: int) -> Place:
    if high < low:
        return Place(place.storage, place.offset + high, low - high + 1, "U", reverse=True)
    return Place(place.storage, place.offset + low, high - low + 1, "U")


def rereading(value: Run, kind: str, size: int) -> Run:
    return lambda m: reread(value(m), kind, size)


def reread(value: Value, kind: str, size: int) -> Value:
    if kind == "F" and value.kind == "F":
        return cast_to("F", size, value)
    return convert(value.value, kind, size)


def combine(op: str, left: Run, right: Run) -> Run:
    if op == "&&":
        return lambda m: boolean(left(m).truth and right(m).truth)
    if op == "||":
        return lambda m: boolean(left(m).truth or right(m).truth)
    if op in ("==", "!=", "<>", "<", ">", "<=", ">="):
        return lambda m: compare(op, left(m), right(m))
    if op in ("<<", ">>"):
        return lambda m: shift(op, left(m), right(m))
    if op in ("&", "|", "^"):
        return lambda m: bitwise(op, left(m), right(m))
    return lambda m: arithmetic(op, left(m), right(m))
