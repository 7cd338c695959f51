"""MFMA against NumPy's matrix product, with the layouts that AMD's matrix instruction calculator prints."""

from __future__ import annotations

import re
from dataclasses import dataclass
from wave import EXEC, LANES, Batch, set_scalar64

import numpy as np
from assembly_forms import registers

A, B, D = 0, 8, 32  # first registers
VGPRS = 64


@dataclass(frozen=True)
class Matrix:
    """v_mfma_f32_32x32x4_2b_f16: an M x M x K product of `blocks`, inputs of types a and b."""

    name: str
    m: int
    k: int
    blocks: int
    a: str
    b: str

    @property
    def accumulator_registers(self) -> int:
        return self.m * self.m * self.blocks // LANES * (2 if self.a == "f64" else 1)


def matrix_of(name: str) -> Matrix:
    m, k, blocks, types = re.fullmatch(r"v_mfma_[fi]\d+_(\d+)x\d+x(\d+)_(?:(\d+)b_)?(\w+)", name).groups()
    a, _, b = types.partition("_")
    return Matrix(name, int(m), int(k), int(blocks or 1), a, b or a)


BITS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8}


def input_lane(matrix: Matrix, i: int, k: int, block: int) -> tuple[int, int]:
    """(lane, which of the lane's elements) of A[i][k]; of B[k][i] the same."""
    if matrix.a == "f64":
        return 16 * k + (4 * block if matrix.blocks > 1 else 0) + i, 0
    if matrix.blocks > 1:
        return matrix.m * block + i, k
    per_lane = matrix.m * matrix.k // LANES
    return matrix.m * (k // per_lane) + i, k % per_lane


def result_place(matrix: Matrix, i: int, j: int, block: int) -> tuple[int, int]:
    """(register, lane) of D[i][j]."""
    if matrix.a == "f64":
        return (2 * (i // 4), 16 * (i % 4) + j) if matrix.m == 16 else (0, 16 * i + 4 * block + j)
    if matrix.m == 32:
        return 16 * block + 4 * (i // 8) + i % 4, 32 * (i // 4) % 64 + j
    if matrix.m == 16:
        return 4 * block + i % 4, 16 * (i // 4) + j
    return i, 4 * block + j


def small_float(bits: np.ndarray, mantissa: int, bias: int) -> np.ndarray:
    exponent = bits >> mantissa & ((1 << (7 - mantissa)) - 1)
    fraction = (bits & ((1 << mantissa) - 1)) / (1 << mantissa)
    magnitude = np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent.astype(float) - bias))
    return np.where(bits == 0x80, np.nan, np.where(bits & 0x80, -magnitude, magnitude))


def decode(bits: np.ndarray, kind: str) -> np.ndarray:
    if kind == "i8":
        return bits.astype(np.uint8).view(np.int8).astype(np.float64)
    if kind in ("fp8", "bf8"):
        return small_float(bits.astype(np.int64), *((3, 8) if kind == "fp8" else (2, 16)))
    if kind == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    unsigned = {"f16": np.uint16, "f32": np.uint32, "f64": np.uint64}[kind]
    return bits.astype(unsigned).view(kind.replace("f", "float")).astype(np.float64)


def draw_inputs(random: np.random.Generator, kind: str, shape) -> np.ndarray:
    """Bits of inputs."""
    if kind == "i8":
        return random.integers(0, 256, shape)
    if kind in ("fp8", "bf8"):
        bits = random.integers(0, 256, shape)
        return np.where(bits == 0x80, 0, bits)
    numbers = random.standard_normal(shape)
    if kind == "bf16":
        return numbers.astype(np.float32).view(np.uint32) >> 16
    return numbers.astype(kind.replace("f", "float")).view(f"u{BITS[kind] // 8}")


@dataclass
class Case:
    matrix: Matrix
    third: str  # "same" as the result, or a constant
    kind: str  # of the result's registers: v or a

    @property
    def text(self) -> str:
        matrix = self.matrix
        result = registers(self.kind, D, 32 * matrix.accumulator_registers)
        width = matrix.m * matrix.k * matrix.blocks * BITS[matrix.a] // LANES
        inputs = [registers("v", A, width), registers("v", B, width)]
        return f"{matrix.name} {', '.join([result, *inputs, result if self.third == 'same' else self.third])}"

    def accumulators(self, state: np.void) -> np.ndarray:
        return state["agpr" if self.kind == "a" else "vgpr"]

    def fill(self, state: np.void, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Puts random matrices into the registers; returns A [block, i, k] and B [block, k, j]."""
        matrix, width = self.matrix, BITS[self.matrix.a]
        bits_a = draw_inputs(random, matrix.a, (matrix.blocks, matrix.m, matrix.k))
        bits_b = draw_inputs(random, matrix.b, (matrix.blocks, matrix.k, matrix.m))
        lanes, at = map(np.array, zip(*(input_lane(matrix, i, k, b) for b, i, k in np.ndindex(bits_a.shape)), strict=True))
        for first, bits in ((A, bits_a), (B, bits_b.transpose(0, 2, 1))):
            shifted = bits.ravel().astype(np.uint64) << (at * width % 32).astype(np.uint64)
            np.bitwise_or.at(
                state["vgpr"], (first + at * width // 32, lanes), (shifted & np.uint64(0xFFFFFFFF)).astype(np.uint32)
            )
            if width == 64:
                state["vgpr"][first + 1, lanes] = shifted >> np.uint64(32)
        count = matrix.accumulator_registers
        self.accumulators(state)[D : D + count] = draw_accumulators(random, matrix.a, count)
        return decode(bits_a, matrix.a), decode(bits_b, matrix.b)

    def gather(self, state: np.void) -> np.ndarray:
        """D, or C before it ran, as [block, i, j]."""
        matrix, values = self.matrix, self.accumulators(state)
        shape = (matrix.blocks, matrix.m, matrix.m)
        register, lane = np.array([result_place(matrix, i, j, block) for block, i, j in np.ndindex(shape)]).T
        words = values[D + register, lane]
        if matrix.a == "f64":
            words = words.astype(np.uint64) | values[D + register + 1, lane].astype(np.uint64) << np.uint64(32)
        kind = {"f64": np.float64, "i8": np.int32}.get(matrix.a, np.float32)
        return words.view(kind).astype(np.float64).reshape(shape)


def draw_accumulators(random: np.random.Generator, kind: str, count: int) -> np.ndarray:
    if kind == "i8":
        return random.integers(-1000, 1000, (count, LANES)).astype(np.int32).view(np.uint32)
    if kind == "f64":
        doubles = random.standard_normal((count // 2, LANES)).view(np.uint64)
        return np.stack([doubles & np.uint64(0xFFFFFFFF), doubles >> np.uint64(32)], axis=1).reshape(count, LANES)
    return random.standard_normal((count, LANES)).astype(np.float32).view(np.uint32)


def test_matrix_products(probe, assembler, known, random):
    matrices = [matrix_of(name) for name in known if name.startswith("v_mfma")]
    assert len(matrices) >= 25
    cases = [
        Case(matrix, third, kind)
        for matrix in matrices
        for third, kind in (("same", "v"), ("same", "a"), ("0", "v"), ("1", "a"))
    ]
    cases = [Case(c.matrix, "1.0" if c.third == "1" and c.matrix.a != "i8" else c.third, c.kind) for c in cases]
    code = assembler.assemble([case.text for case in cases])
    batch = Batch(code, len(cases), vgprs=VGPRS, agprs=VGPRS)
    batch.input["entry"] = code.entry
    set_scalar64(batch.input, EXEC, 0x5)  # MFMA does not care
    inputs = [case.fill(state, random) for case, state in zip(cases, batch.input, strict=True)]
    for case, (a, b), before, after in zip(cases, inputs, batch.input, batch.run(probe), strict=True):
        assert not after["faulted"], after["fault"].decode()
        c = case.gather(before) if case.third == "same" else float(case.third)
        got, expected = case.gather(after), a @ b + c
        # Integers are exact; the order of a floating-point sum is the hardware's own business.
        unit = {"i8": 0.0, "f64": 2.0**-53}.get(case.matrix.a, 2.0**-24)
        bound = 2 * case.matrix.k * unit * (np.abs(a) @ np.abs(b) + np.abs(c))
        assert (np.abs(got - expected) <= bound).all(), case.text
