"""MFMA and SMFMAC against NumPy's matrix product, with the layouts that AMD's matrix instruction calculator prints."""

from __future__ import annotations

import math
import re
import subprocess
from dataclasses import dataclass, replace
from wave import EXEC, LANES, Batch, set_scalar64

import numpy as np
import pytest
from assemble import Assembler
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
    flushes: bool = False  # denormal halves and bfloats

    def decode(self, bits: np.ndarray, kind: str) -> np.ndarray:
        values = decode(bits, kind)
        least = {"f16": 2.0**-14, "bf16": 2.0**-126}.get(kind, 0.0)
        return np.where(np.abs(values) < least, 0.0, values) if self.flushes else values

    @property
    def accumulator_registers(self) -> int:
        return self.m * self.m * self.blocks // LANES * (2 if self.a == "f64" else 1)


OLDER_PER_LANE = {"f64": 1, "f32": 1, "f16": 4, "bf16": 2, "bf16_1k": 4, "i8": 4}  # elements of A in a lane


def older_matrix_of(name: str) -> Matrix | None:
    """From a gfx90a name such as v_mfma_f32_32x32x4bf16_1k; None for other names."""
    found = re.fullmatch(r"v_mfma_[fi]\d+_(\d+)x\d+x(\d+)([a-z]+\d+(?:_1k)?)", name)
    if not found:
        return None
    m, k, kind = int(found[1]), int(found[2]), found[3]
    number = kind.removesuffix("_1k")
    return Matrix(name, m, k, LANES * OLDER_PER_LANE[kind] // (m * k), number, number, flushes=True)


def matrix_of(name: str) -> Matrix:
    m, k, blocks, types = re.fullmatch(r"v_s?mfmac?_[fi]\d+_(\d+)x\d+x(\d+)_(?:(\d+)b_)?(\w+)", name).groups()
    a, _, b = types.partition("_")
    return Matrix(name, int(m), int(k), int(blocks or 1), a, b or a)


BITS = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8, "e4m3": 8, "e5m2": 8}
OCP = {"fp8": "e4m3", "bf8": "e5m2"}  # the 8-bit floats of gfx950


def on_gfx950(matrix: Matrix) -> Matrix:
    return replace(matrix, a=OCP.get(matrix.a, matrix.a), b=OCP.get(matrix.b, matrix.b))


def is_doubled(matrix: Matrix) -> bool:
    """Whether only gfx950 has it: a lane has twice as many bits of A as in the other shapes of one block."""
    bits = matrix.m * matrix.k * matrix.blocks * BITS[matrix.a] // LANES
    return bits // (2 if "smfmac" in matrix.name else 1) == 128


def input_lane(matrix: Matrix, i: int, k: int, block: int) -> tuple[int, int]:
    """(lane, index among the lane's elements) of A[i][k], and likewise of B[k][i]."""
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


def ocp_values(exponent_bits: int, mantissa: int) -> list[float]:
    """The numbers of a format, by their bits, as if it had no infinities and NaNs; the caller handles those."""
    bias = 2 ** (exponent_bits - 1) - 1
    positive = [
        math.ldexp(fraction + (2**mantissa if exponent else 0), max(exponent, 1) - bias - mantissa)
        for exponent in range(2**exponent_bits)
        for fraction in range(2**mantissa)
    ]
    return [*positive, *(-value for value in positive)]


OCP_VALUES = {"e4m3": ocp_values(4, 3), "e5m2": ocp_values(5, 2), "e2m3": ocp_values(2, 3), "e3m2": ocp_values(3, 2),
              "e2m1": ocp_values(2, 1)}  # fmt: skip
OCP_SPECIALS = {"e4m3": {0x7F: math.nan}, "e5m2": {0x7C: math.inf, 0x7D: math.nan, 0x7E: math.nan, 0x7F: math.nan}}
for _kind, _specials in OCP_SPECIALS.items():
    for _bits, _value in _specials.items():
        OCP_VALUES[_kind][_bits], OCP_VALUES[_kind][_bits | 0x80] = _value, -_value


def decode(bits: np.ndarray, kind: str) -> np.ndarray:
    if kind in OCP_VALUES:
        return np.array(OCP_VALUES[kind])[bits]
    if kind == "i8":
        return bits.astype(np.uint8).view(np.int8).astype(np.float64)
    if kind in ("fp8", "bf8"):
        return small_float(bits.astype(np.int64), *((3, 8) if kind == "fp8" else (2, 16)))
    if kind == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if kind == "xf32":
        return (bits.astype(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64)
    unsigned = {"f16": np.uint16, "f32": np.uint32, "f64": np.uint64}[kind]
    return bits.astype(unsigned).view(kind.replace("f", "float")).astype(np.float64)


def draw_inputs(random: np.random.Generator, kind: str, shape) -> np.ndarray:
    """Random bits of inputs."""
    if kind == "i8":
        return random.integers(0, 256, shape)
    if kind in ("fp8", "bf8"):
        bits = random.integers(0, 256, shape)
        return np.where(bits == 0x80, 0, bits)
    if kind in OCP_VALUES:
        numbers = np.flatnonzero(np.isfinite(OCP_VALUES[kind]))
        return random.choice(numbers, shape)
    numbers = random.standard_normal(shape)
    if kind == "bf16":
        return numbers.astype(np.float32).view(np.uint32) >> 16
    return numbers.astype(kind.removeprefix("x").replace("f", "float")).view(f"u{BITS[kind] // 8}")


def put(state: np.void, first: int, width: int, places: list[tuple[int, int]], bits: np.ndarray) -> None:
    """Puts elements of `width` bits into registers from `first` on, each at its (lane, index among the lane's elements)."""
    lanes, at = np.array(places).T
    shifted = bits.ravel().astype(np.uint64) << (at * width % 32).astype(np.uint64)
    np.bitwise_or.at(state["vgpr"], (first + at * width // 32, lanes), (shifted & np.uint64(0xFFFFFFFF)).astype(np.uint32))
    if width == 64:
        state["vgpr"][first + 1, lanes] = shifted >> np.uint64(32)


@dataclass
class Case:
    matrix: Matrix
    third: str  # "same" as the result, or a constant
    kind: str  # the kind of the result's registers: v or a
    modifiers: str = ""

    @property
    def text(self) -> str:
        matrix = self.matrix
        result = registers(self.kind, D, 32 * matrix.accumulator_registers)
        width = matrix.m * matrix.k * matrix.blocks * BITS[matrix.a] // LANES
        inputs = [registers("v", A, width), registers("v", B, width)]
        return f"{matrix.name} {', '.join([result, *inputs, result if self.third == 'same' else self.third])} {self.modifiers}"

    def accumulators(self, state: np.void) -> np.ndarray:
        return state["agpr" if self.kind == "a" else "vgpr"]

    def fill(self, state: np.void, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Puts random matrices into the registers; returns A [block, i, k] and B [block, k, j]."""
        matrix = self.matrix
        bits_a = draw_inputs(random, matrix.a, (matrix.blocks, matrix.m, matrix.k))
        bits_b = draw_inputs(random, matrix.b, (matrix.blocks, matrix.k, matrix.m))
        places = [input_lane(matrix, i, k, b) for b, i, k in np.ndindex(bits_a.shape)]
        for first, bits in ((A, bits_a), (B, bits_b.transpose(0, 2, 1))):
            put(state, first, BITS[matrix.a], places, bits)
        count = matrix.accumulator_registers
        self.accumulators(state)[D : D + count] = draw_accumulators(random, matrix.a, count)
        return matrix.decode(bits_a, matrix.a), matrix.decode(bits_b, matrix.b)

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


def run(probe, assembler, random, cases: list[Case]):
    """Yields (case, A, B, state before, state after)."""
    code = assembler.assemble([case.text for case in cases])
    batch = Batch(code, len(cases), vgprs=VGPRS, agprs=VGPRS)
    batch.input["entry"] = code.entry
    set_scalar64(batch.input, EXEC, 0x5)  # ignored by MFMA
    inputs = [case.fill(state, random) for case, state in zip(cases, batch.input, strict=True)]
    outcome = batch.run(probe, target=assembler.target)
    for case, (a, b), before, after in zip(cases, inputs, batch.input, outcome, strict=True):
        assert not after["faulted"], after["fault"].decode()
        yield case, a, b, before, after


def check(case: Case, a: np.ndarray, b: np.ndarray, before: np.void, after: np.void) -> None:
    c = case.gather(before) if case.third == "same" else float(case.third)
    check_product(case, a, b, c, case.gather(after))


def check_product(case: Case, a: np.ndarray, b: np.ndarray, c, got: np.ndarray) -> None:
    # Integers are exact; the order of a floating-point sum is up to the hardware.
    unit = {"i8": 0.0, "f64": 2.0**-53}.get(case.matrix.a, 2.0**-24)
    bound = 2 * case.matrix.k * unit * (np.abs(a) @ np.abs(b) + np.abs(c))
    assert (np.abs(got - (a @ b + c)) <= bound).all(), case.text


def dense(known, target: str = "gfx942") -> list[Matrix]:
    names = [name for name in known if name.startswith("v_mfma") and not name.endswith("_f8f6f4")]
    if target == "gfx90a":
        return [matrix for matrix in map(older_matrix_of, names) if matrix]
    matrices = [matrix_of(name) for name in names if not older_matrix_of(name)]
    if target == "gfx950":
        return [on_gfx950(matrix) for matrix in matrices if matrix.a != "xf32"]
    return [matrix for matrix in matrices if not is_doubled(matrix)]


@pytest.fixture(params=["gfx942", "gfx90a", "gfx950"])
def of_target(request, assembler, older_assembler, newer_assembler) -> Assembler:
    return {one.target: one for one in (assembler, older_assembler, newer_assembler)}[request.param]


def test_matrix_products(probe, of_target, known, random):
    assembler, matrices = of_target, dense(known, of_target.target)
    assert len(matrices) == {"gfx942": 32, "gfx90a": 27, "gfx950": 36}[of_target.target]  # all of them
    cases = [
        Case(matrix, third, kind)
        for matrix in matrices
        for third, kind in (("same", "v"), ("same", "a"), ("0", "v"), ("1", "a"))
    ]
    cases = [Case(c.matrix, "1.0" if c.third == "1" and c.matrix.a != "i8" else c.third, c.kind) for c in cases]
    for run_case in run(probe, assembler, random, cases):
        check(*run_case)


def test_a_block_of_a_for_several(probe, of_target, known, random):
    """CBSZ and ABID."""
    several = [matrix for matrix in dense(known, of_target.target) if matrix.blocks > 1 and matrix.a != "f64"]
    cases = []
    for matrix in several:
        for size in range(1, matrix.blocks.bit_length()):
            cases += [Case(matrix, "same", "a", f"cbsz:{size} abid:{block}") for block in (0, (1 << size) - 1)]
    for case, a, b, before, after in run(probe, of_target, random, cases):
        size, chosen = map(int, re.findall(r":(\d+)", case.modifiers))
        a = a[[block >> size << size | chosen for block in range(case.matrix.blocks)]]
        check(case, a, b, before, after)


LANE = np.arange(LANES)
PATTERNS = [LANE, LANE % 32, LANE % 32 + 32, np.roll(LANE, -16), *(LANE % 16 + 16 * group for group in range(4))]


def takes_pattern(matrix: Matrix, target: str) -> bool:
    if matrix.a == "f64":
        return False
    return target == "gfx90a" or matrix.blocks > 1 or matrix.a == "f32"


def test_lane_patterns_of_b(probe, of_target, known, random):
    """BLGP."""
    target = of_target.target
    takes = [matrix for matrix in dense(known, target) if takes_pattern(matrix, target)]
    cases = [Case(matrix, "same", "v", f"blgp:{pattern}") for matrix in takes for pattern in range(1, 8)]
    for case, a, b, before, after in run(probe, of_target, random, cases):
        matrix, pattern = case.matrix, PATTERNS[int(case.modifiers[-1])]
        by_place = {input_lane(matrix, j, k, block): b[block, k, j] for block, k, j in np.ndindex(b.shape)}
        permuted = b.copy()
        for block, k, j in np.ndindex(b.shape):
            lane, at = input_lane(matrix, j, k, block)
            permuted[block, k, j] = by_place[int(pattern[lane]), at]
        check(case, a, permuted, before, after)


@pytest.mark.parametrize("kind, tiny", [("f16", 0x0200), ("bf16_1k", 0x0040)])
def test_denormal_inputs_count_as_zero_on_gfx90a(probe, assembler, older_assembler, kind, tiny):
    """AMD documents this of the MI200 series only (MIOpen, "MI200 MFMA behavior specifics")."""
    one, products = {"f16": 0x3C00, "bf16_1k": 0x3F80}[kind], []
    for of, name in ((older_assembler, f"16x16x16{kind}"), (assembler, f"16x16x16_{kind.removesuffix('_1k')}")):
        batch = Batch(of.assemble([f"v_mfma_f32_{name} v[{D}:{D + 3}], v[0:1], v[8:9], 0"]), 1, vgprs=VGPRS)
        batch.input[0]["vgpr"][0:2] = tiny << 16 | tiny
        batch.input[0]["vgpr"][8:10] = one << 16 | one
        set_scalar64(batch.input, EXEC, 2**64 - 1)
        products.append(batch.run(probe, target=of.target)[0]["vgpr"][D].view(np.float32))
    flushed, kept = products
    assert (flushed == 0).all() and (kept == 16 * decode(np.array(tiny), kind.removesuffix("_1k"))).all()


def test_negated_doubles(probe, assembler, known, random):
    doubles = [matrix for matrix in dense(known) if matrix.a == "f64"]
    cases = [Case(m, "same", "a", f"neg:[{n & 1},{n >> 1 & 1},{n >> 2}]") for m in doubles for n in range(1, 8)]
    for case, a, b, before, after in run(probe, assembler, random, cases):
        negate = [-1 if bit == "1" else 1 for bit in re.findall("[01]", case.modifiers)]
        check_product(case, negate[0] * a, negate[1] * b, negate[2] * case.gather(before), case.gather(after))


def test_modifiers_that_an_instruction_does_not_accept_are_refused(probe, assembler):
    lines = ["v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3] blgp:1",
             "v_mfma_f32_16x16x4_f32 a[0:3], v0, v1, a[0:3] cbsz:1",
             "v_mfma_f32_16x16x4_4b_f16 a[0:15], v[0:1], v[2:3], a[0:15] cbsz:3",
             "v_mfma_f32_16x16x4_4b_f16 a[0:15], v[0:1], v[2:3], a[0:15] abid:1"]  # fmt: skip
    code = assembler.assemble(lines)
    batch = Batch(code, len(lines), vgprs=16, agprs=16)
    batch.input["entry"] = code.entry
    assert all(b"is not modelled" in fault for fault in batch.run(probe)["fault"])


# ---- sparse ----

INDEX = 16  # the register of indices


def index_sets(matrix: Matrix) -> int:
    """The sets of indices in a register: two bits for each element of A in a lane."""
    return 16 // (matrix.m * matrix.k // 2 // LANES)


@dataclass
class Sparse:
    matrix: Matrix
    kind: str
    size: int  # CBSZ
    chosen: int  # ABID

    @property
    def text(self) -> str:
        matrix, bits = self.matrix, BITS[self.matrix.a]
        width = matrix.m * matrix.k * bits // LANES
        result = registers(self.kind, D, 32 * matrix.accumulator_registers)
        operands = [result, registers("v", A, width // 2), registers("v", B, width), f"v{INDEX}"]
        return f"{matrix.name} {', '.join(operands)} cbsz:{self.size} abid:{self.chosen}"

    def fill(self, state: np.void, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Puts random matrices and indices into the registers; returns A, with its zeros, and B."""
        matrix, bits = self.matrix, BITS[self.matrix.a]
        m, groups = matrix.m, matrix.k // 4
        kept = draw_inputs(random, matrix.a, (m, groups, 2))
        bits_b = draw_inputs(random, matrix.b, (matrix.k, m))
        first, second = random.permuted(np.tile(np.arange(4), (m, groups, 1)), axis=2)[..., :2].transpose(2, 0, 1)
        of_a = m * matrix.k // 2 // LANES  # elements in a lane
        put(state, A, bits, [(m * (at // of_a) + i, at % of_a) for i in range(m) for at in range(matrix.k // 2)], kept)
        of_b = m * matrix.k // LANES
        put(state, B, bits, [(m * (k // of_b) + j, k % of_b) for k in range(matrix.k) for j in range(m)], bits_b)
        state["vgpr"][INDEX] = random.integers(0, 2**32, LANES)
        self.put_indices(state, first | second << 2)
        dense_a = np.zeros((m, groups, 4))
        for place, value in ((first, kept[..., 0]), (second, kept[..., 1])):
            np.put_along_axis(dense_a, place[..., None], decode(value, matrix.a)[..., None], axis=2)
        return dense_a.reshape(m, matrix.k), decode(bits_b, matrix.b)

    def put_indices(self, state: np.void, indices: np.ndarray) -> None:
        """Puts four bits for each four k of a row into the set that CBSZ and ABID select."""
        sets = index_sets(self.matrix)
        in_lane, base = 8 // sets, (0 if self.size else self.chosen % sets) * 32 // sets
        for i, group in np.ndindex(indices.shape):
            lane, shift = self.matrix.m * (group // in_lane) + i, base + 4 * (group % in_lane)
            word = int(state["vgpr"][INDEX, lane]) & ~(0xF << shift)
            state["vgpr"][INDEX, lane] = word | int(indices[i, group]) << shift


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_sparse_products(probe, assembler, newer_assembler, known, random, target):
    matrices = [matrix_of(name) for name in known if name.startswith("v_smfmac")]
    if target == "gfx950":
        assembler, matrices = newer_assembler, [on_gfx950(matrix) for matrix in matrices]
    else:
        matrices = [matrix for matrix in matrices if not is_doubled(matrix)]
    assert len(matrices) == {"gfx942": 14, "gfx950": 28}[target]
    cases = []
    for matrix in matrices:
        choices = [(0, chosen) for chosen in range(index_sets(matrix))] + [(1, 1), (3, 0)]
        cases += [Sparse(matrix, "va"[i % 2], *choice) for i, choice in enumerate(choices)]
    code = assembler.assemble([case.text for case in cases])
    batch = Batch(code, len(cases), vgprs=VGPRS, agprs=VGPRS)
    batch.input["entry"] = code.entry
    for case, state in zip(cases, batch.input, strict=True):
        result = Case(case.matrix, "same", case.kind)
        count = case.matrix.accumulator_registers
        result.accumulators(state)[D : D + count] = draw_accumulators(random, case.matrix.a, count)
    inputs = [case.fill(state, random) for case, state in zip(cases, batch.input, strict=True)]
    for case, (a, b), before, after in zip(cases, inputs, batch.input, batch.run(probe, target=assembler.target), strict=True):
        assert not after["faulted"], after["fault"].decode()
        result = Case(case.matrix, "same", case.kind, case.text)
        check_product(result, a, b, result.gather(before)[0], result.gather(after)[0])


@pytest.mark.parametrize(
    "text, words",
    [
        ("v_mfma_f32_16x16x16_f16 v[32:35], v[0:1], v[8:9], 0", [0x7FC00000] * 4),
        ("v_smfmac_f32_16x16x32_f16 v[32:35], v[0:1], v[8:11], v16", [0x7FC00000] * 4),
        ("v_mfma_f64_16x16x4_f64 v[32:39], v[4:5], v[12:13], 0", [0, 0x7FF80000] * 4),
    ],
)
def test_an_invalid_product_gives_the_nan_of_the_target_not_of_the_host(probe, assembler, text, words):
    """Infinity times zero: LLVM's NaN for the target is positive, x86's negative."""
    batch = Batch(assembler.assemble([text]), 1, vgprs=VGPRS)
    state = batch.input[0]
    state["vgpr"][:] = 0
    state["vgpr"][0:2] = 0x7C007C00
    state["vgpr"][5] = 0x7FF00000
    after = batch.run(probe)[0]
    assert not after["faulted"], after["fault"].decode()
    np.testing.assert_array_equal(after["vgpr"][32 : 32 + len(words), 0], words)


def test_rows_that_sparse_products_leave_out_may_hold_anything(probe, assembler):
    """Infinities in rows of B for which A has no element do not cause NaNs."""
    batch = Batch(assembler.assemble(["v_smfmac_f32_16x16x32_f16 v[32:35], v[0:1], v[8:11], v16"]), 1, vgprs=VGPRS)
    state = batch.input[0]
    state["vgpr"][A : A + 2] = 0x3C003C00
    state["vgpr"][B : B + 4 : 2], state["vgpr"][B + 1 : B + 4 : 2] = 0x3C003C00, 0x7C007C00
    state["vgpr"][INDEX] = 0x44
    after = batch.run(probe)[0]
    np.testing.assert_array_equal(after["vgpr"][D : D + 4].view(np.float32), 16.0)


# Execution cycles as AMD's matrix instruction calculator prints them.
CYCLES = {"32x32x8_f16": 32, "16x16x16_bf16": 16, "32x32x4_2b_f16": 64, "16x16x4_4b_i8": 32, "4x4x4_16b_bf16": 8,
          "32x32x1_2b_f32": 64, "4x4x1_16b_f32": 8, "16x16x8_xf32": 16, "32x32x4_xf32": 32, "16x16x32_fp8_bf8": 16,
          "32x32x16_i8": 32, "16x16x4_f64": 32, "4x4x4_4b_f64": 16, "16x16x32_f16": 16, "32x32x16_bf16": 32,
          "16x16x64_bf8_fp8": 16, "32x32x32_i8": 32}  # fmt: skip


def test_execution_cycles(probe, known):
    lines = subprocess.run([probe, "costs"], check=True, capture_output=True, text=True).stdout.splitlines()
    busy = {name: int(cycles) for name, _, cycles in map(str.split, lines) if name.startswith(("v_mfma", "v_smfmac"))}
    shared = {name: cycles for name, cycles in busy.items() if not older_matrix_of(name) and not name.endswith("_f8f6f4")}
    busy = {name: cycles for name, cycles in shared.items() if not is_doubled(matrix_of(name))}
    for shape, cycles in CYCLES.items():
        found = [name for name in busy if re.fullmatch(rf"v_s?mfmac?_[fi]\d+_{shape}", name)]
        assert len(found) == 1 and busy[found[0]] == cycles, (found, [busy[name] for name in found])


# For instructions new in gfx950: the number of passes of four cycles in LLVM's SISchedule.
DOUBLED_CYCLES = {"16x16x32_f16": 16, "32x32x16_bf16": 32, "16x16x64_i8": 16, "32x32x32_i8": 32, "16x16x64_bf16": 16,
                  "32x32x64_fp8_bf8": 32, "16x16x128_f8f6f4": 32, "32x32x64_f8f6f4": 64}  # fmt: skip


def test_execution_cycles_of_the_doubled_shapes(probe):
    lines = subprocess.run([probe, "costs", "gfx950"], check=True, capture_output=True, text=True).stdout.splitlines()
    busy = {name: int(cycles) for name, _, cycles in map(str.split, lines)}
    for shape, cycles in DOUBLED_CYCLES.items():
        found = [name for name in busy if re.fullmatch(rf"v_s?mfmac?_[fi]\d+_{shape}", name)]
        assert found and {busy[name] for name in found} == {cycles}, (found, [busy[name] for name in found])
