"""Products of 8-, 6- and 4-bit floats with and without scales (gfx950), against NumPy."""

from __future__ import annotations

import itertools
from wave import LANES, Batch

import numpy as np
import pytest
from assembly_forms import registers
from test_matrix import BITS, OCP_VALUES, Matrix, decode, draw_inputs, result_place

A, B, D, SCALES = 0, 8, 32, (50, 51)
FORMATS = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")  # by CBSZ and BLGP
WIDTHS = BITS | {"e2m3": 6, "e3m2": 6, "e2m1": 4}
SHAPES = {16: 128, 32: 64}  # M: K
IN_BLOCK = 32  # elements with one scale


def place(m: int, kind: str, k: int) -> tuple[int, int]:
    """(group of lanes, index among the lane's elements) of A[.][k], as in the tables of AMD's Composable Kernel."""
    if WIDTHS[kind] < 8:
        return k // 32, k % 32
    half, k = divmod(k, SHAPES[m] // 2)
    return k // 16, 16 * half + k % 16


def put(state: np.void, first: int, m: int, kind: str, bits: np.ndarray) -> None:
    """Puts bits [i, k] into the lanes' registers, as one long number per lane."""
    numbers = [0] * LANES
    for i, k in np.ndindex(bits.shape):
        group, at = place(m, kind, k)
        numbers[m * group + i] |= int(bits[i, k]) << WIDTHS[kind] * at
    for register in range(WIDTHS[kind]):
        state["vgpr"][first + register] = [number >> 32 * register & 0xFFFFFFFF for number in numbers]


def products_of(probe, assembler, random, m: int, pairs, scaled: bool, select=(0, 0)):
    """Yields (A, B, scales of A, scales of B, C, D) for each pair of formats."""
    k, count = SHAPES[m], m * m // LANES
    lines = []
    for a, b in pairs:
        result = registers("v", D, 32 * count)
        operands = [result, registers("v", A, 32 * WIDTHS[a]), registers("v", B, 32 * WIDTHS[b]), result]
        operands += [f"v{SCALES[0]}, v{SCALES[1]}"] if scaled else []
        low, high = [byte & 1 for byte in select], [byte >> 1 for byte in select]
        selects = f" op_sel:[{low[0]},{low[1]},0] op_sel_hi:[{high[0]},{high[1]},0]" if scaled else ""
        name = f"v_mfma_{'scale_' if scaled else ''}f32_{m}x{m}x{k}_f8f6f4"
        lines.append(f"{name} {', '.join(operands)}{selects} cbsz:{FORMATS.index(a)} blgp:{FORMATS.index(b)}")
    code = assembler.assemble(lines)
    batch = Batch(code, len(lines), vgprs=64)
    batch.input["entry"] = code.entry
    drawn = []
    for (a, b), state in zip(pairs, batch.input, strict=True):
        bits = [draw_inputs(random, kind, (m, k)) for kind in (a, b)]
        put(state, A, m, a, bits[0])
        put(state, B, m, b, bits[1])
        state["vgpr"][D : D + count] = random.standard_normal((count, LANES)).astype(np.float32).view(np.uint32)
        words = random.integers(0x70707070, 0x7F7F7F7F, (2, LANES)) & 0x7F7F7F7F
        state["vgpr"][SCALES[0] : SCALES[1] + 1] = words
        exponents = [(words[i] >> 8 * select[i] & 0xFF).reshape(k // IN_BLOCK, m).T.astype(int) - 127 for i in (0, 1)]
        drawn.append((decode(bits[0], a), decode(bits[1], b), *(2.0**e for e in exponents)))
    places = {(i, j): result_place(Matrix("", m, k, 1, "f32", "f32"), i, j, 0) for i, j in np.ndindex(m, m)}

    def gather(state: np.void) -> np.ndarray:
        words = [[state["vgpr"][D + places[i, j][0], places[i, j][1]] for j in range(m)] for i in range(m)]
        return np.array(words, np.uint32).view(np.float32).astype(float)

    for inputs, before, after in zip(drawn, batch.input, batch.run(probe, target="gfx950"), strict=True):
        assert not after["faulted"], after["fault"].decode()
        yield *inputs, gather(before), gather(after)


def check(a: np.ndarray, b: np.ndarray, c: np.ndarray, got: np.ndarray) -> None:
    exact = a @ b.T + c
    assert (np.abs(got - exact) <= 2.0**-23 * (np.abs(a) @ np.abs(b.T) + np.abs(c))).all()


@pytest.mark.parametrize("m", SHAPES)
def test_products_of_all_pairs_of_formats(probe, newer_assembler, random, m):
    pairs = list(itertools.product(FORMATS, FORMATS))
    for a, b, _, _, c, got in products_of(probe, newer_assembler, random, m, pairs, scaled=False):
        check(a, b, c, got)


@pytest.mark.parametrize("m", SHAPES)
@pytest.mark.parametrize("select", [(0, 0), (1, 2), (3, 1)])
def test_each_group_of_32_elements_has_a_scale(probe, newer_assembler, random, m, select):
    pairs = [*zip(FORMATS, FORMATS, strict=True), ("e4m3", "e2m1"), ("e3m2", "e5m2"), ("e2m1", "e2m3")]
    for a, b, of_a, of_b, c, got in products_of(probe, newer_assembler, random, m, pairs, True, select):
        check(a * np.repeat(of_a, IN_BLOCK, axis=1), b * np.repeat(of_b, IN_BLOCK, axis=1), c, got)


def one_product(probe, assembler, a: int, scale: int) -> np.ndarray:
    """D of a product of an A full of 8-bit bytes `a` with ones; A's scales are `scale`."""
    code = assembler.assemble(["v_mfma_scale_f32_16x16x128_f8f6f4 v[32:35], v[0:7], v[8:15], 0, v50, v51"])
    batch = Batch(code, 1, vgprs=64)
    batch.input["vgpr"][0, 0:8] = a * 0x01010101
    batch.input["vgpr"][0, 8:16] = 0x38383838
    batch.input["vgpr"][0, 50], batch.input["vgpr"][0, 51] = scale, 127
    after = batch.run(probe, target="gfx950")[0]
    assert not after["faulted"], after["fault"].decode()
    return after["vgpr"][32:36]


def test_nan_inputs_give_the_nan_of_the_target(probe, newer_assembler):
    """E4M3 has the NaN 0x7f; a scale of 0xff is also a NaN."""
    for a, scale in ((0x7F, 127), (0xFF, 127), (0x38, 0xFF)):
        assert (one_product(probe, newer_assembler, a, scale) == 0x7FC00000).all()
    assert (one_product(probe, newer_assembler, 0x38, 128).view(np.float32) == 256).all()


def test_the_8_bit_formats_of_gfx950_are_not_those_of_gfx942(probe, assembler, newer_assembler):
    """0x80 is minus zero, not NaN, and 0x38 is 1, not 0.5."""
    results = []
    for of in (assembler, newer_assembler):
        batch = Batch(of.assemble(["v_mfma_f32_16x16x32_fp8_fp8 v[32:35], v[0:1], v[8:9], 0"]), 1, vgprs=64)
        batch.input["vgpr"][0, 0:2], batch.input["vgpr"][0, 8:10] = 0x38388038, 0x38383838
        results.append(batch.run(probe, target=of.target)[0]["vgpr"][32].view(np.float32))
    fnuz, ocp = results
    assert np.isnan(fnuz).all() and (ocp == 24).all()


def test_formats_and_operands_have_to_fit(probe, newer_assembler):
    """The assembler enforces it, but the bits of an instruction may differ."""
    line = "v_mfma_f32_16x16x128_f8f6f4 v[32:35], v[0:7], v[8:15], 0"
    code = newer_assembler.assemble([line])
    changed = bytearray(code.code)
    changed[code.entry[0] + 7] |= 5 << 5  # BLGP: there is no fifth format
    batch = Batch(type(code)(bytes(changed), code.entry), 1, vgprs=64)
    assert batch.run(probe, target="gfx950")[0]["faulted"]


def test_matrix_instructions_that_gfx950_lacks_are_refused(probe, assembler):
    code = assembler.assemble(["v_mfma_f32_16x16x8_xf32 v[32:35], v[0:1], v[8:9], 0"])
    after = Batch(code, 1, vgprs=64).run(probe, target="gfx950")[0]
    assert after["faulted"] and "not an instruction" in after["fault"].decode()


def test_the_values_of_the_formats():
    """Against the ends of their ranges in the OCP's specifications."""
    largest = {kind: max(v for v in values if np.isfinite(v)) for kind, values in OCP_VALUES.items()}
    assert largest == {"e4m3": 448, "e5m2": 57344, "e2m3": 7.5, "e3m2": 28, "e2m1": 6}
    least = {kind: min(v for v in values if v > 0) for kind, values in OCP_VALUES.items()}
    assert least == {"e4m3": 2**-9, "e5m2": 2**-16, "e2m3": 0.125, "e3m2": 0.0625, "e2m1": 0.5}
