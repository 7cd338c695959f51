"""An interpreter of the pseudo-code in which AMD's ISA documents define instructions.

The language: statements separated by ";", if/elsif/else/endif, for/do/endfor, lambdas; values are typed by a suffix
(.u32, .f16, .i24, .b64), literals by a prefix (6'60U, 16'1.0) or suffix (0ULL, 1.0F); [hi : lo] and [at +: count]
cut bits out, { a, b } joins them, ** is a power.

    program = parse("D0.u32 = S0.u32 + S1.u32")
    state = {"S0": Bits(3), "S1": Bits(4), "D0": Bits(0)}
    program.run(state)          # state["D0"].bits == 7, state["D0"].written == 0xffffffff

Integers are exact until they are stored, so overflow shows only where the hardware's does. Floating point rounds once,
to nearest even; every NaN that is computed (not moved) is the default one: compare NaNs as NaNs.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

# ---- values ----

FRACTION_BITS = {16: 10, 32: 23, 64: 52}
EXPONENT_BITS = {16: 5, 32: 8, 64: 11}
PACK = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}


class Unsupported(Exception):
    """The pseudo-code uses something that this interpreter does not know."""


@dataclass(frozen=True)
class Value:
    """kind: U, I, B (integers; B is plain bits) or F, BF (floats, held as their bits), P (2 ** value), Z (+0.0 or -0.0
    written with its sign: only that zero equals it)."""

    kind: str
    size: int
    value: int

    @property
    def bits(self) -> int:
        return self.value & ((1 << self.size) - 1)

    @property
    def number(self) -> float:
        return float_of(self.value, self.size)

    @property
    def truth(self) -> bool:
        return self.value != 0


def float_of(bits: int, size: int) -> float:
    decode, encode = PACK[size]
    return struct.unpack(decode, struct.pack(encode, bits))[0]


def default_nan(size: int) -> int:
    return ((1 << (EXPONENT_BITS[size] + 1)) - 1) << (FRACTION_BITS[size] - 1)


def infinity(size: int, negative: bool) -> int:
    return (int(negative) << (size - 1)) | (((1 << EXPONENT_BITS[size]) - 1) << FRACTION_BITS[size])


def bits_of_float(number: float, size: int) -> int:
    """`number` rounded to nearest even in `size` bits."""
    if number != number:
        return default_nan(size)
    decode, encode = PACK[size]
    try:
        return struct.unpack(encode, struct.pack(decode, number))[0]
    except OverflowError:
        return infinity(size, number < 0)


def bits_of_fraction(number: Fraction, size: int, negative_zero: bool = False) -> int:
    """An exact rational rounded once, to nearest even."""
    if number == 0:
        return int(negative_zero) << (size - 1)
    fraction_bits = FRACTION_BITS[size]
    bias = (1 << (EXPONENT_BITS[size] - 1)) - 1
    magnitude = abs(number)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, 1 - bias) - fraction_bits)
    mantissa = round(magnitude / unit)  # Python rounds halves to even
    if exponent < 1 - bias:
        encoded = mantissa
    else:
        encoded = mantissa + ((exponent + bias - 1) << fraction_bits)  # the hidden bit adds the missing one
    return (int(number < 0) << (size - 1)) | min(encoded, infinity(size, False))


def is_nan(bits: int, size: int) -> bool:
    return bits & ((1 << (size - 1)) - 1) > infinity(size, False)


def integer(value: int, kind: str = "I", size: int = 32) -> Value:
    return Value(kind, size, value)


def boolean(value: bool) -> Value:
    return Value("U", 1, int(value))


def real(number: float, size: int) -> Value:
    return Value("F", size, bits_of_float(number, size))


def convert(bits: int, kind: str, size: int) -> Value:
    """The low `size` bits read as `kind`."""
    bits &= (1 << size) - 1
    if kind == "I" and bits >> (size - 1):
        bits -= 1 << size
    return Value(kind, size, bits)


class Bits:
    """Storage: bits, and which of them were written. A variable also remembers the type it was assigned."""

    def __init__(self, bits: int = 0, kind: str = "B", size: int = 0):
        self.bits, self.kind, self.size, self.written = bits, kind, size, 0

    def put(self, offset: int, size: int, bits: int) -> None:
        mask = ((1 << size) - 1) << offset
        self.bits = (self.bits & ~mask) | ((bits << offset) & mask)
        self.written |= mask

    def get(self, offset: int, size: int) -> int:
        return self.bits >> offset & ((1 << size) - 1)


# ---- tokens ----

TYPE = r"(?:BF|U|I|F|B)"
TOKEN = re.compile(
    rf"""\s*(?://[^\n]*\n?\s*)*(?:
    (?P<cast>\d+'{TYPE})(?![\w.])
  | (?P<sized>\d+'(?:0x[0-9a-fA-F]+|\d+\.\d+|\d+)U?)
  | (?P<hex>0x[0-9a-fA-F]+(?:ULL|LL|U)?)
  | (?P<real>\d+\.\d+F?)
  | (?P<int>\d+(?:ULL|LL|U|F)?)
  | (?P<type>\.(?:fp|bf|u|i|f|b)\d+)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<op>\*\*|<<|>>|<=|>=|==|!=|<>|&&|\|\||\+=|-=|\+:|[-+*/%~!<>=&|^?:;,(){{}}\[\]])
    )""",
    re.VERBOSE,
)
KEYWORDS = {"if", "then", "elsif", "else", "endif", "for", "in", "do", "endfor", "declare", "break", "return", "lambda"}


def tokenize(text: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    text = re.sub(r"//[^\n]*", "", text).strip()
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise Unsupported(f"cannot read {text[at:at + 30]!r}")
        kind = match.lastgroup
        word = match.group(kind)
        if kind == "name" and word in KEYWORDS:
            # "in" is also the name of a variable: an index or an assignment follows that one.
            rest = text[match.end() :].lstrip()
            kind = "name" if word == "in" and rest[:1] in "[=:" else "keyword"
        tokens.append((kind, word))
        at = match.end()
    tokens.append(("end", ""))
    return tokens


# ---- running ----


class Break(Exception):
    pass


class Return(Exception):
    def __init__(self, value: Value):
        self.value = value


@dataclass
class Machine:
    """What a program runs on: named storage, arrays of storage ("VGPR", "MEM"), and other instructions to call."""

    state: dict[str, object]
    call: Callable[[str, list[Value]], Value] | None = None
    functions: dict[str, tuple[list[str], list]] = field(default_factory=dict)


Run = Callable[[Machine], Value]


@dataclass
class Place:
    """Bits of a storage that an expression names: readable, and assignable on the left."""

    storage: Bits
    offset: int
    size: int  # 0: all that a variable holds
    kind: str
    reverse: bool = False

    def load(self) -> Value:
        if self.size == 0:
            if self.storage.size == 0:
                return Value("B", 64, self.storage.get(0, 64))
            return convert(self.storage.bits, self.storage.kind, self.storage.size)
        bits = self.storage.get(self.offset, self.size)
        if self.reverse:
            bits = int(f"{bits:0{self.size}b}"[::-1], 2)
        return convert(bits, self.kind, self.size)

    def store(self, value: Value) -> None:
        if self.size:
            self.storage.put(self.offset, self.size, self._bits_to_store(value))
            if self.storage.size == 0 and self.offset == 0:
                self.storage.kind, self.storage.size = self.kind, self.size
            return
        if self.storage.size == 0:
            self.storage.kind, self.storage.size = value.kind, value.size
        self.storage.put(0, self.storage.size, value.value)

    def _bits_to_store(self, value: Value) -> int:
        if value.kind == "F" and self.kind == "F" and value.size != self.size:
            return cast_to("F", self.size, value).value
        return value.value


def cast_to(kind: str, size: int, value: Value) -> Value:
    """A cast between formats of one family keeps the value, from bits to float keeps the bits."""
    if value.kind == "P":
        return value
    if kind == "F" and value.kind == "F":
        if value.size == size:
            return value
        if is_nan(value.bits, value.size):
            return Value("F", size, widen_nan(value, size))
        return real(value.number, size)
    if kind == "F" and value.kind == "BF":
        return Value("F", 32, value.bits << 16)
    return convert(value.value, kind, size)


def widen_nan(value: Value, size: int) -> int:
    """Keeps sign, payload and whether it signals, so that isSignalNAN(64'F(x)) means something."""
    shift = FRACTION_BITS[size] - FRACTION_BITS[value.size]
    payload = value.bits & ((1 << FRACTION_BITS[value.size]) - 1)
    payload = payload << shift if shift > 0 else payload >> -shift
    quiet_bit = 1 << (FRACTION_BITS[size] - 1)
    return infinity(size, bool(value.bits >> (value.size - 1))) | (payload or quiet_bit)


def promote(a: Value, b: Value) -> tuple[str, int]:
    if "F" in (a.kind, b.kind):
        return "F", max(v.size for v in (a, b) if v.kind == "F")
    size = max(a.size, b.size)
    kinds = {v.kind for v in (a, b)}
    return ("U" if "U" in kinds else "I" if "I" in kinds else "B"), size


def exact(value: Value) -> Fraction:
    return Fraction(value.number)


def arithmetic(op: str, a: Value, b: Value) -> Value:
    if b.kind == "P" or a.kind == "P":
        power, factor = (a, b) if a.kind == "P" else (b, a)
        return scale_by_power(factor, power.value)
    kind, size = promote(a, b)
    if kind == "F":
        return float_arithmetic(op, cast_to("F", size, a), cast_to("F", size, b), size)
    x, y = a.value, b.value
    if op == "/":
        return Value(kind, size, x // y)
    if op == "%":
        return Value(kind, size, x % y)
    return Value(kind, size, x + y if op == "+" else x - y if op == "-" else x * y)


def float_arithmetic(op: str, a: Value, b: Value, size: int) -> Value:
    x, y = a.number, b.number
    try:
        if op == "/":
            if y == 0:
                if x == 0 or x != x:
                    return real(math.nan, size)
                return Value("F", size, infinity(size, math.copysign(1, x) != math.copysign(1, y)))
            # A double's quotient of two singles (or halves) rounds like the exact one.
            return real(x / y, size)
        return real(x + y if op == "+" else x - y if op == "-" else x * y, size)
    except OverflowError:
        return Value("F", size, infinity(size, False))


def scale_by_power(factor: Value, exponent: int) -> Value:
    if not math.isfinite(factor.number) or factor.number == 0:
        return factor if factor.number == factor.number else real(math.nan, factor.size)
    exponent = max(-5000, min(5000, exponent))
    return Value("F", factor.size, bits_of_fraction(exact(factor) * Fraction(2) ** exponent, factor.size))


def fused_multiply_add(a: Value, b: Value, c: Value) -> Value:
    size = a.size
    x, y, z = a.number, b.number, c.number
    if not all(map(math.isfinite, (x, y, z))):
        product = x * y if not (math.isinf(x) and y == 0 or math.isinf(y) and x == 0) else math.nan
        if math.isfinite(x) and math.isfinite(y):
            product = math.copysign(1.0, x) * math.copysign(1.0, y)  # finite: only z decides
        return real(product + z, size)
    total = exact(a) * exact(b) + exact(c)
    product_negative = math.copysign(1, x) * math.copysign(1, y) < 0
    negative_zero = product_negative and math.copysign(1, z) < 0
    return Value("F", size, bits_of_fraction(total, size, negative_zero and x * y == 0 and z == 0))


def compare(op: str, a: Value, b: Value) -> Value:
    if b.kind == "Z":
        return boolean(a.number == 0 and a.bits >> (a.size - 1) == b.value)
    if "F" in (a.kind, b.kind):
        x = a.number if a.kind == "F" else float(a.value)
        y = b.number if b.kind == "F" else float(b.value)
        if op == "<>":
            return boolean(x < y or x > y)
    else:
        x, y = a.value, b.value
    return boolean({"==": x == y, "!=": x != y, "<>": x != y, "<": x < y, ">": x > y, "<=": x <= y, ">=": x >= y}[op])


# ---- functions of the language ----


def saturating(low: int, high: int, size: int, kind: str) -> Callable[[Value], Value]:
    def to_integer(v: Value) -> Value:
        x = v.number if v.kind == "F" else v.value
        if x != x:
            return Value(kind, size, 0)
        return Value(kind, size, low if x <= low else high if x >= high else math.trunc(x))

    return to_integer


def rounding(function: Callable[[float], float]) -> Callable[[Value], Value]:
    def apply(v: Value) -> Value:
        x = v.number
        if not math.isfinite(x):
            return v if x == x else real(math.nan, v.size)
        return real(math.copysign(float(function(x)), x), v.size)

    return apply


def through(function: Callable[[float], float]) -> Callable[[Value], Value]:
    """A function of reals in double precision; outside its domain it is NaN."""

    def apply(v: Value) -> Value:
        try:
            return real(function(v.number), v.size)
        except (ValueError, OverflowError):
            return real(math.nan, v.size)

    return apply


def log_of_two(x: float) -> float:
    return -math.inf if x == 0 else math.log2(x)


def power(base: Value, exponent: Value) -> Value:
    try:
        return real(base.number**exponent.number, base.size)
    except OverflowError:
        return Value("F", base.size, infinity(base.size, False))


def exponent_of(v: Value) -> Value:
    return integer(v.bits >> FRACTION_BITS[v.size] & ((1 << EXPONENT_BITS[v.size]) - 1))


def mantissa_of(v: Value) -> Value:
    return real(math.frexp(v.number)[0], v.size)


def sign_extend_from(v: Value, width: Value) -> Value:
    n = width.value
    if n == 0:
        return Value("I", v.size, 0)
    return convert(convert(v.value, "I", min(n, v.size)).value, "I", v.size)


def normalised(low: float, scale: int, kind: str) -> Callable[[Value], Value]:
    def apply(v: Value) -> Value:
        x = v.number
        x = 0.0 if x != x else min(max(x, low), 1.0)
        return Value(kind, 16, round(Fraction(x) * scale))

    return apply


def quiet(v: Value) -> Value:
    return Value("F", v.size, v.bits | 1 << (FRACTION_BITS[v.size] - 1))


def is_signalling(v: Value) -> bool:
    return is_nan(v.bits, v.size) and not v.bits >> (FRACTION_BITS[v.size] - 1) & 1


def widen(size: int, kind: str) -> Callable[[Value], Value]:
    return lambda v: Value(kind, size, v.value)


def float_to_float(size: int) -> Callable[[Value], Value]:
    """A conversion that an instruction does: unlike a cast, it quiets NaNs."""
    return lambda v: quiet(cast_to("F", size, v)) if is_nan(v.bits, v.size) else cast_to("F", size, v)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "fma": fused_multiply_add,
    "trunc": rounding(math.trunc),
    "floor": rounding(math.floor),
    "fract": lambda v: real(v.number - math.floor(v.number), v.size) if math.isfinite(v.number) else v,
    "isEven": lambda v: boolean(math.isfinite(v.number) and v.number % 2 == 0),
    "sqrt": through(math.sqrt),
    "log2": through(log_of_two),
    "pow": power,
    "sin": through(math.sin),
    "cos": through(math.cos),
    "abs": lambda v: Value(v.kind, v.size, v.bits & ~(1 << (v.size - 1))) if v.kind == "F" else Value(v.kind, v.size, abs(v.value)),
    "sign": lambda v: boolean(bool(v.bits >> (v.size - 1))),
    "exponent": exponent_of,
    "mantissa": mantissa_of,
    "ldexp": lambda v, n: scale_by_power(v, n.value),
    "isNAN": lambda v: boolean(is_nan(v.bits, v.size)),
    "isSignalNAN": lambda v: boolean(is_signalling(v)),
    "isQuietNAN": lambda v: boolean(is_nan(v.bits, v.size) and not is_signalling(v)),
    "cvtToQuietNAN": quiet,
    "signext": lambda v: Value("I", 64, convert(v.value, "I", v.size).value),
    "signext_from_bit": sign_extend_from,
    "s_ff1_i32_b64": lambda v: integer((v.bits & -v.bits).bit_length() - 1),
    "f32_to_i32": saturating(-(2**31), 2**31 - 1, 32, "I"),
    "f32_to_u32": saturating(0, 2**32 - 1, 32, "U"),
    "f64_to_i32": saturating(-(2**31), 2**31 - 1, 32, "I"),
    "f64_to_u32": saturating(0, 2**32 - 1, 32, "U"),
    "f16_to_i16": saturating(-(2**15), 2**15 - 1, 16, "I"),
    "f16_to_u16": saturating(0, 2**16 - 1, 16, "U"),
    "u32_to_u16": saturating(0, 2**16 - 1, 16, "U"),
    "i32_to_i16": saturating(-(2**15), 2**15 - 1, 16, "I"),
    "f32_to_snorm": normalised(-1.0, 32767, "I"),
    "f32_to_unorm": normalised(0.0, 65535, "U"),
    "f16_to_snorm": normalised(-1.0, 32767, "I"),
    "f16_to_unorm": normalised(0.0, 65535, "U"),
    "bf16_to_f32": lambda v: Value("F", 32, v.bits << 16),
    **{f"{kind}{n}_to_f{m}": (lambda m: lambda v: Value("F", m, bits_of_fraction(Fraction(v.value), m)))(m)
       for kind in "iu" for n in (16, 32) for m in (16, 32, 64)},
    **{f"f{n}_to_f{m}": float_to_float(m) for n in (16, 32, 64) for m in (16, 32, 64)},
    **{f"{kind}{n}_to_{kind}32": widen(32, kind.upper()) for kind in "iu" for n in (4, 8, 16)},
}  # fmt: skip

CONSTANTS = {
    "INF": Value("F", 64, infinity(64, False)),
    "NAN": Value("F", 64, default_nan(64)),
    "PI": real(math.pi, 64),
    "UNDERFLOW_F32": real(0.0, 32),
    "UNDERFLOW_F64": real(0.0, 64),
    "OVERFLOW_F32": Value("F", 32, infinity(32, False)),
    "OVERFLOW_F64": Value("F", 64, infinity(64, False)),
}

# ---- the parser: a Pratt parser that makes closures ----

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
            kind, size = split_type(self.next())
            value = (lambda v: lambda m: reread(v(m), kind, size))(value)
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
        if place.size and place.size < size:  # a slice read as something wider: zero-extended
            return Place(Bits(place.storage.get(place.offset, place.size)), 0, size, kind)
        return Place(place.storage, place.offset, size, kind)

    return run


def cut(place: Place, high: int, low: int) -> Place:
    if high < low:
        return Place(place.storage, place.offset + high, low - high + 1, "U", reverse=True)
    return Place(place.storage, place.offset + low, high - low + 1, "U")


def split_type(word: str) -> tuple[str, int]:
    kind, size = re.fullmatch(r"\.([a-z]+)(\d+)", word).groups()
    return kind.upper(), int(size)


def reread(value: Value, kind: str, size: int) -> Value:
    if kind == "F" and value.kind == "F":
        return cast_to("F", size, value)
    return convert(value.value, kind, size)


def parse_literal(kind: str, word: str) -> Value:
    if kind == "sized":
        size, digits = word.split("'")
        if "." in digits:
            return real(float(digits), int(size))
        unsigned = digits.endswith("U")
        return Value("U" if unsigned else "B" if "0x" in digits else "I", int(size), int(digits.rstrip("U"), 0))
    if kind == "real":
        return real(float(word.rstrip("F")), 32 if word.endswith("F") else 64)
    if kind == "int" and word.endswith("F"):
        return real(float(word[:-1]), 32)
    match = re.fullmatch(r"(0x[0-9a-fA-F]+|\d+)(ULL|LL|U)?", word)
    number, suffix = int(match.group(1), 0), match.group(2)
    size = 64 if suffix in ("ULL", "LL") else 32
    plain = "B" if kind == "hex" else "I"
    return Value("U" if suffix in ("U", "ULL") else "I" if suffix else plain, size, number)


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


def shift(op: str, a: Value, b: Value) -> Value:
    if op == "<<":
        return Value(a.kind, max(a.size, 32), a.value << b.value)
    return Value(a.kind, a.size, a.value >> b.value)


def bitwise(op: str, a: Value, b: Value) -> Value:
    kind, size = promote(a, b)
    x, y = a.value, b.value
    return Value(kind, size, x & y if op == "&" else x | y if op == "|" else x ^ y)


def negate(op: str, value: Value) -> Value:
    if op == "!":
        return boolean(not value.truth)
    if op == "+":
        return value
    if op == "~":
        return convert(~value.value, value.kind, value.size)
    if value.kind == "F":
        return Value("F", value.size, value.bits ^ 1 << (value.size - 1))
    return Value(value.kind, value.size, -value.value)


def power_of(base: Value, exponent: Value) -> Value:
    if base.number != 2.0:
        raise Unsupported("a power of something other than two")
    return Value("P", 0, exponent.value)


# ---- programs ----


@dataclass
class Program:
    statements: list[Run]

    def run(self, state: dict[str, object], call: Callable[[str, list[Value]], Value] | None = None) -> None:
        """Changes `state`: name -> Bits, or a list of Bits for "VGPR" and the like, or anything indexable."""
        run_all(self.statements, Machine(state, call))


def parse(text: str) -> Program:
    parser = Parser(text)
    program = Program(parser.block())
    if parser.kind != "end":
        raise Unsupported(f"unexpected {parser.word!r}")
    return program


class Library:
    """All instructions of a document: `definitions` maps a mnemonic (lower case, no suffix) to its pseudo-code."""

    def __init__(self, definitions: dict[str, str]):
        self.definitions = definitions
        self._programs: dict[str, Program] = {}

    def program(self, mnemonic: str) -> Program:
        if mnemonic not in self._programs:
            self._programs[mnemonic] = parse(self.definitions[mnemonic])
        return self._programs[mnemonic]

    def run(self, mnemonic: str, state: dict[str, object]) -> None:
        """Runs one instruction on `state`; calls such as v_min_f32(a, b) run that instruction's pseudo-code."""

        def call(name: str, arguments: list[Value]) -> Value:
            if name not in self.definitions:
                raise Unsupported(f"function {name}")
            inner = {key: state[key] for key in ("MODE_IEEE",) if key in state}
            inner |= {f"S{i}": Bits(value.bits) for i, value in enumerate(arguments)}
            inner["D0"] = Bits()
            self.program(name).run(inner, call)
            kind, size = re.fullmatch(r".*_([uifb])(\d+)", name).groups() if not name.endswith("_u8") else ("u", "32")
            return convert(inner["D0"].bits, kind.upper(), int(size))

        self.program(mnemonic).run(state, call)
