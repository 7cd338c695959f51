"""C compiled by clang for gfx942 and run on the device, compared bit for bit with the same C on this machine."""

from __future__ import annotations

from wave import LANES

import numpy as np
import pytest
from compiled import DTYPES, CompiledFunctions, Function
from operands import draw

PRELUDE = "typedef _Float16 half;\n"


def unary(name, result, argument, body):
    return Function(name, result, (argument,), body)


def binary(name, result, argument, body):
    return Function(name, result, (argument, argument), body)


FLOAT = [
    binary("div_f32", "f32", "f32", "return a / b;"),
    binary("div_f64", "f64", "f64", "return a / b;"),
    unary("sqrt_f32", "f32", "f32", "return __builtin_sqrtf(a);"),
    unary("sqrt_f64", "f64", "f64", "return __builtin_sqrt(a);"),
    unary("rcp_f32", "f32", "f32", "return 1.0f / a;"),
    unary("rsqrt_f64", "f64", "f64", "return 1.0 / __builtin_sqrt(a);"),
    Function("fma_f32", "f32", ("f32",) * 3, "return __builtin_fmaf(a, b, c);"),
    Function("fma_f64", "f64", ("f64",) * 3, "return __builtin_fma(a, b, c);"),
    Function("mad_f32", "f32", ("f32",) * 3, "return a * b - c;"),
    Function("mad_f64", "f64", ("f64",) * 3, "return a * b + c;"),
    unary("floor_f32", "f32", "f32", "return __builtin_floorf(a);"),
    unary("ceil_f64", "f64", "f64", "return __builtin_ceil(a);"),
    unary("round_even_f32", "f32", "f32", "return __builtin_rintf(a);"),
    unary("round_f32", "f32", "f32", "return __builtin_roundf(a);"),
    unary("trunc_f64", "f64", "f64", "return __builtin_trunc(a);"),
    Function("ldexp_f32", "f32", ("f32", "i32"), "return __builtin_ldexpf(a, b % 400);"),
    Function("ldexp_f64", "f64", ("f64", "i32"), "return __builtin_ldexp(a, b % 3000);"),
    binary("copysign_f32", "f32", "f32", "return __builtin_copysignf(a, b);"),
    binary("less_or_abs", "f32", "f32", "return a < b ? __builtin_fabsf(a) : -b;"),
    unary("narrow_f64", "f32", "f64", "return (float)a;"),
    unary("widen_f32", "f64", "f32", "return a;"),
    unary("half_round_trip", "f32", "f32", "return (float)(half)a;"),
    binary("half_add", "f32", "f32", "return (float)((half)a + (half)b);"),
    binary("half_mul", "f32", "f32", "return (float)((half)a * (half)b);"),
    binary("half_div", "f32", "f32", "return (float)((half)a / (half)b);"),
    binary("half_less", "i32", "f32", "return (half)a < (half)b ? 3 : (half)a != (half)b;"),
]
CONVERSIONS = [
    unary("f32_from_i32", "f32", "i32", "return (float)a;"),
    unary("f32_from_u32", "f32", "u32", "return (float)a;"),
    unary("f32_from_i64", "f32", "i64", "return (float)a;"),
    unary("f32_from_u64", "f32", "u64", "return (float)a;"),
    unary("f64_from_i64", "f64", "i64", "return (double)a;"),
    unary("f64_from_u64", "f64", "u64", "return (double)a;"),
    unary("f32_from_bytes", "f32", "u32", "return (float)(a & 255) + (float)(a >> 8 & 255) * 2 + (float)(a >> 24);"),
    unary("half_from_i16", "f32", "i32", "return (float)(half)(short)a;"),
]
# The result of a conversion out of range is not defined in C: arguments stay in range.
IN_RANGE = [
    unary("i32_from_f32", "i32", "f32", "return a > -2e9f && a < 2e9f ? (int)a : 7;"),
    unary("u32_from_f32", "u32", "f32", "return a > -1.0f && a < 4e9f ? (unsigned)a : 7;"),
    unary("i64_from_f32", "i64", "f32", "return a > -9e18f && a < 9e18f ? (long)a : 7;"),
    unary("u64_from_f64", "u64", "f64", "return a > -1.0 && a < 1.8e19 ? (unsigned long)a : 7;"),
    unary("i64_from_f64", "i64", "f64", "return a > -9e18 && a < 9e18 ? (long)a : 7;"),
    unary("i16_from_half", "i32", "f32", "return a > -30000.0f && a < 30000.0f ? (short)(half)a : 7;"),
]


def guarded_division(kind: str, op: str) -> str:
    """The body of a division that returns 5 where C leaves the quotient undefined."""
    if kind[0] == "u":
        return f"return b ? a {op} b : 5;"
    return f"return b > 0 && a != (1ul << {int(kind[1:]) - 1}) ? a {op} b : 5;"


INTEGER = [
    *(binary(f"{name}_{t}", t, t, guarded_division(t, op)) for t in ("i32", "u32", "i64", "u64")
      for name, op in (("quotient", "/"), ("remainder", "%"))),
    *(binary(f"{name}_{t}", t, t, f"return a {op} b;") for t in ("u32", "u64")
      for name, op in (("sum", "+"), ("difference", "-"), ("product", "*"), ("both", "&"), ("either", "|"), ("differ", "^"))),
    *(Function(f"{name}_{t}", t, (t, "u32"), f"return a {op} (b & {int(t[1:]) - 1});") for t in ("i32", "u32", "i64", "u64")
      for name, op in (("left", "<<"), ("right", ">>"))),
    *(binary(f"{name}_{t}", t, t, f"return a {op} b ? a : b;") for t in ("i32", "u32", "i64", "u64")
      for name, op in (("least", "<"), ("most", ">"))),
    binary("high_product_u64", "u64", "u64", "return (unsigned long)((unsigned __int128)a * b >> 64);"),
    binary("high_product_i32", "i32", "i32", "return (int)((long)a * b >> 32);"),
    Function("wide_product_sum", "u64", ("u32", "u32", "u64"), "return (unsigned long)a * b + c;"),
    Function("signed_product_sum", "i64", ("i32", "i32", "i64"),
             "return (long)((unsigned long)((long)a * b) + (unsigned long)c);"),
    unary("ones_u32", "i32", "u32", "return __builtin_popcount(a);"),
    unary("ones_u64", "i32", "u64", "return __builtin_popcountl(a);"),
    unary("leading_u32", "i32", "u32", "return a ? __builtin_clz(a) : 32;"),
    unary("leading_u64", "i32", "u64", "return a ? __builtin_clzl(a) : 64;"),
    unary("trailing_u64", "i32", "u64", "return a ? __builtin_ctzl(a) : 64;"),
    unary("reverse_u32", "u32", "u32", "return __builtin_bitreverse32(a);"),
    unary("reverse_u64", "u64", "u64", "return __builtin_bitreverse64(a);"),
    unary("swap_bytes_u32", "u32", "u32", "return __builtin_bswap32(a);"),
    unary("swap_bytes_u64", "u64", "u64", "return __builtin_bswap64(a);"),
    binary("rotate_u32", "u32", "u32", "return __builtin_rotateleft32(a, b);"),
    binary("rotate_u64", "u64", "u64", "return __builtin_rotateleft64(a, b);"),
    unary("sign_extended", "i64", "i64", "return (signed char)a + (long)(short)(a >> 8) * 3 + (int)(a >> 24);"),
    Function("fields", "u32", ("u32",) * 3, "return (a >> 5 & 0x3ff) << 7 | (b & 0xff00ff) | (c >> 28);"),
    Function("select_bits", "u32", ("u32",) * 3, "return (a & b) | (~a & c);"),
    Function("short_arithmetic", "u32", ("u32",) * 3,
             "unsigned short x = a, y = b, z = c; unsigned short s = x * y + z; short t = (short)x >> (y & 15); "
             "return s | (unsigned)(unsigned short)(t < (short)z ? t : (short)z) << 16;"),
    binary("saturated_u32", "u32", "u32", "unsigned s = a + b; return s < a ? ~0u : s;"),
    binary("absolute_difference", "u32", "u32", "return a > b ? a - b : b - a;"),
]  # fmt: skip
COLLATZ = """
    unsigned long x = a % 1000 + 1;
    int n = 0;
    while (x != 1 && n < 300) { x = x & 1 ? 3 * x + 1 : x / 2; ++n; }
    return n;"""
GREATEST_COMMON_DIVISOR = """
    unsigned x = a % 5000, y = b % 5000;
    while (y) { unsigned t = x % y; x = y; y = t; }
    return x;"""
NESTED = """
    int s = 0;
    for (int i = 0; i < (a & 7); ++i) {
      if (i == (b & 3)) continue;
      for (int j = 0; j < (c & 7); ++j) { if (j == (a & 5)) break; s += i * 10 + j; }
    }
    return s;"""
PRIVATE_ARRAY = """
    volatile unsigned t[16];
    for (int i = 0; i < 16; ++i) t[i] = a * i + b;
    t[c & 15] ^= 77;
    return t[(b + c) & 15] + t[a & 15];"""
PRIVATE_BYTES = """
    volatile unsigned char t[32];
    volatile short u[8];
    for (int i = 0; i < 32; ++i) t[i] = a >> (i & 15);
    for (int i = 0; i < 8; ++i) u[i] = b >> i;
    return t[c & 31] + u[a & 7] * 3 + ((volatile signed char*)t)[b & 31];"""
CASES = """
    switch (a & 7) {
      case 0: return b; case 1: return -b; case 2: return b * 3; case 3: return ~b;
      case 4: return b >> 3; case 5: return b ^ 0x55; default: return 9;
    }"""
CONTROL = [
    binary("collatz", "i32", "u32", COLLATZ),
    binary("greatest_common_divisor", "u32", "u32", GREATEST_COMMON_DIVISOR),
    Function("nested", "i32", ("i32", "i32", "i32"), NESTED),
    Function("private_array", "u32", ("u32", "u32", "u32"), PRIVATE_ARRAY),
    Function("private_bytes", "u32", ("u32", "u32", "u32"), PRIVATE_BYTES),
    Function("cases", "i32", ("u32", "i32"), CASES),
]
GROUPS = {"float": FLOAT, "conversions": CONVERSIONS, "conversions in range": IN_RANGE, "integer": INTEGER, "control": CONTROL}


@pytest.fixture(scope="module")
def functions(assembler, tmp_path_factory) -> CompiledFunctions:
    everything = [f for group in GROUPS.values() for f in group]
    return CompiledFunctions(assembler, everything, tmp_path_factory.mktemp("compiled"), PRELUDE)


def draw_arguments(random: np.random.Generator, function: Function, waves: int) -> list[np.ndarray]:
    arguments = [draw(random, waves * LANES, 8 * np.dtype(DTYPES[t]).itemsize).astype(DTYPES[t]) for t in function.arguments]
    if len(arguments) > 1 and function.arguments[0] == function.arguments[1]:  # close operands: quotients near one
        near = random.random(arguments[0].size) < 0.2
        arguments[1] = np.where(near, arguments[0] + random.integers(0, 5, near.size).astype(arguments[0].dtype), arguments[1])
    return arguments


def nan_is_nan(values: np.ndarray, kind: str) -> np.ndarray:
    """Processors differ in the NaN that an operation returns: all NaNs become one."""
    if kind not in ("f32", "f64"):
        return values
    floats = values.view({"f32": "<f4", "f64": "<f8"}[kind])
    return np.where(np.isnan(floats), np.array(-1).astype(values.dtype), values)


def check(functions: CompiledFunctions, probe, random, group: str, waves: int) -> None:
    arguments = {f.name: draw_arguments(random, f, waves) for f in GROUPS[group]}
    failures = []
    for name, results in functions.on_device(probe, arguments).items():
        kind = functions.functions[name].result
        host = nan_is_nan(functions.on_host(name, arguments[name]), kind)
        device = nan_is_nan(results, kind)
        wrong = np.flatnonzero(host != device)
        if wrong.size:
            shown = ", ".join(hex(int(argument[wrong[0]])) for argument in arguments[name])
            failures.append(
                f"{name}({shown}) = {int(device[wrong[0]]):#x}, on the host {int(host[wrong[0]]):#x}; {wrong.size} differ"
            )
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("group", GROUPS)
def test_device_and_host_agree(functions, probe, random, group):
    check(functions, probe, random, group, 24)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_device_and_host_agree_at_length(functions, probe, random, group):
    for _ in range(40):
        check(functions, probe, random, group, 48)
