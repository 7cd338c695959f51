"""What gfx950 has and gfx942 does not, other than matrix products."""

from __future__ import annotations

import re
from wave import EXEC, LANES, MEMORY_ADDRESS, Batch, set_scalar64

import numpy as np
import pytest
from assemble import Code
from shapes import Form, shape_of, vector_forms
from test_matrix import OCP_VALUES
from test_pseudocode import FAMILIES, check_forms, check_vector, report, run_vector_family

TARGET = "gfx950"
ALL = 2**64 - 1
LANE = np.arange(LANES)


def run(probe, code: Code, setup, vgprs: int = 128, lds: int = 0, memory: int = 0) -> np.ndarray:
    """The states after each snippet; setup(states) fills the states before."""
    batch = Batch(code, len(code.entry), vgprs=vgprs, lds=lds, memory=memory)
    batch.input["entry"] = code.entry
    set_scalar64(batch.input, EXEC, ALL)
    setup(batch.input)
    after = batch.run(probe, target=TARGET)
    assert not after["faulted"].any(), after["fault"][0].decode()
    return after


# ---- against AMD's pseudo-code ----

OF_PSEUDOCODE = ("v_cvt_pk_f16_f32", "v_dot2_f32_bf16", "v_dot2c_f32_bf16")


def check_all_lanes(library, form: Form, before: np.void, after: np.void) -> str | None:
    return check_vector(library, form, before, after, LANES)


def test_instructions_with_pseudocode(probe, newer_assembler, library, random):
    forms = [form for name in OF_PSEUDOCODE for form in vector_forms(name, shape_of(library.definitions[name]))]
    # Constants for bfloats are refused.
    forms = [form for form in forms if "bf16" not in form.mnemonic or all(source.kind != "c" for source in form.sources[:2])]
    failures, tested = check_forms(newer_assembler, probe, library, forms, random, 2, check_all_lanes)
    report(failures, tested, len(OF_PSEUDOCODE))


@pytest.mark.parametrize("family", FAMILIES)
def test_instructions_that_gfx942_has_as_well(probe, newer_assembler, library, known, random, family):
    run_vector_family(probe, newer_assembler, library, known, random, family, 1, 1)


# ---- vector arithmetic against NumPy ----


@pytest.mark.parametrize("bits", [32, 16])
@pytest.mark.parametrize("table", [0x00, 0x96, 0xCA, 0x01, 0x80, 0xFF, 0x1B])
def test_any_function_of_three_bits(probe, newer_assembler, random, bits, table):
    line = f"v_bitop3_b{bits} v3, v0, v1, v2 bitop3:{table:#x}"
    code = newer_assembler.assemble([line, f"{line} op_sel:[1,0,1,1]" if bits == 16 else line])

    def setup(states):
        states["vgpr"][:, :4] = random.integers(0, 2**32, (2, 4, LANES), dtype=np.uint32)
        before.append(states["vgpr"][:, :4].copy())

    before: list[np.ndarray] = []
    after = run(probe, code, setup, vgprs=4)["vgpr"][:, 3]
    for case in (0, 1):
        a, b, c, old = (before[0][case, i] for i in range(4))
        if bits == 16 and case:
            a, c = a >> 16, c >> 16
        expected = np.zeros(LANES, np.uint32)
        for bit in range(bits):
            index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | c >> bit & 1
            expected |= np.where(table >> index & 1, np.uint32(1 << bit), np.uint32(0)).astype(np.uint32)
        if bits == 16:
            expected = old & 0xFFFF | expected << 16 if case else old & 0xFFFF0000 | expected
        np.testing.assert_array_equal(after[case], expected)


def test_next_random_numbers(probe, newer_assembler, random):
    """A shift register with feedback into four bits."""
    numbers = random.integers(0, 2**32, LANES, dtype=np.uint64)

    def setup(states):
        states["vgpr"][0, 0] = numbers

    after = run(probe, newer_assembler.assemble(["v_prng_b32 v3, v0"]), setup, vgprs=4)["vgpr"][0, 3]
    np.testing.assert_array_equal(after, numbers * 2 & 0xFFFFFFFF ^ np.where(numbers >> 31, 0b11000101, 0).astype(np.uint64))


def test_shifts_of_pairs_saturate(probe, newer_assembler, random):
    """The other half of the destination is kept."""
    numbers = random.integers(-(2**31), 2**31, (2, LANES)) >> random.integers(0, 28, (2, LANES))
    shifts, old = random.integers(0, 2**32, LANES), 0x12345678
    code = newer_assembler.assemble(
        [f"v_ashr_pk_{kind}8_i32 v3, v0, v1, v2{half}" for kind in "iu" for half in ("", " op_sel:[0,0,0,1]")]
    )

    def setup(states):
        states["vgpr"][:, :2] = numbers & 0xFFFFFFFF
        states["vgpr"][:, 2], states["vgpr"][:, 3] = shifts, old

    after = run(probe, code, setup, vgprs=4)["vgpr"][:, 3]
    shifted = numbers >> (shifts & 31)
    for case, (low, high) in enumerate(((-128, 127), (-128, 127), (0, 255), (0, 255))):
        first, second = np.clip(shifted, low, high) & 0xFF
        pair = first | second << 8
        np.testing.assert_array_equal(after[case], pair << 16 | old & 0xFFFF if case % 2 else pair | old & 0xFFFF0000)


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3.5]


def ordered(numbers: np.ndarray) -> np.ndarray:
    """Integers in the order of the numbers, in which -0 is before +0."""
    bits = numbers.view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF) - 1, bits)


@pytest.mark.parametrize("name, choose", [("minimum3", np.argmin), ("maximum3", np.argmax)])
def test_minimum_and_maximum_of_three_are_those_of_ieee_754_2019(probe, newer_assembler, random, name, choose):
    """A NaN wins, and -0 is less than +0."""
    numbers = random.choice(SPECIAL, (3, LANES)).astype(np.float32)
    halves = numbers.astype(np.float16).view(np.uint16).astype(np.uint32)
    code = newer_assembler.assemble([f"v_{name}_f32 v3, v0, v1, v2", f"v_pk_{name}_f16 v3, v0, v1, v2"])

    def setup(states):
        states["vgpr"][0, :3] = numbers.view(np.uint32)
        states["vgpr"][1, :3] = halves | halves[:, ::-1] << 16

    of_singles, of_halves = run(probe, code, setup, vgprs=4)["vgpr"][:, 3]
    expected = np.where(np.isnan(numbers).any(axis=0), np.float32(np.nan), numbers[choose(ordered(numbers), axis=0), LANE])
    assert 10 < np.isnan(expected).sum() < LANES - 10

    def check(got: np.ndarray, wanted: np.ndarray) -> None:
        np.testing.assert_array_equal(got, wanted)
        number = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(wanted)[number])

    check(of_singles.view(np.float32), expected)
    check((of_halves & 0xFFFF).astype(np.uint16).view(np.float16), expected.astype(np.float16))
    check((of_halves >> 16).astype(np.uint16).view(np.float16), expected[::-1].astype(np.float16))


def test_bfloats(probe, newer_assembler, random):
    singles = random.integers(0, 2**32, (2, LANES), dtype=np.uint32)
    singles[:, :4] = 0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF  # a tie to even, just above one, overflow
    code = newer_assembler.assemble(["v_cvt_pk_bf16_f32 v3, v0, v1", "v_cvt_f32_bf16 v3, v0"])

    def setup(states):
        states["vgpr"][:, :2] = singles

    narrowed, widened = run(probe, code, setup, vgprs=4)["vgpr"][:, 3]
    np.testing.assert_array_equal(widened, singles[0] << 16)
    values = singles.view(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        for got, value in zip((narrowed & 0xFFFF, narrowed >> 16), values, strict=True):
            result = (got << 16).astype(np.uint32).view(np.float32).astype(np.float64)
            assert (np.isnan(result) == np.isnan(value)).all()
            number = np.isfinite(result) & np.isfinite(value)
            step = 2.0 ** np.maximum(np.floor(np.log2(np.abs(value))) - 7, -133)
            error = np.abs(result - value)
            assert (error[number] <= step[number] / 2).all()
            tie = number & (error == step / 2)
            assert tie[:2].all() and (got[tie] % 2 == 0).all()


def test_halves_of_registers_are_swapped(probe, newer_assembler, random):
    code = newer_assembler.assemble([f"v_permlane{width}_swap_b32 v0, v1" for width in (16, 32)])
    registers = random.integers(0, 2**32, (2, LANES), dtype=np.uint32)

    def setup(states):
        states["vgpr"][:, :2] = registers

    after = run(probe, code, setup, vgprs=4)["vgpr"][:, :2]
    for width, (first, second) in zip((16, 32), after, strict=True):
        a, b = (part.reshape(-1, 2, width).copy() for part in registers)
        a[:, 1], b[:, 0] = b[:, 0].copy(), a[:, 1].copy()
        np.testing.assert_array_equal(first, a.ravel())
        np.testing.assert_array_equal(second, b.ravel())


# ---- the LDS ----


@pytest.mark.parametrize("bits", [16, 8, 4])
def test_transposing_reads(probe, newer_assembler, random, bits):
    """16 lanes read a matrix with 16 columns and as many rows as 64 bits hold elements: each lane gets a column."""
    rows = 64 // bits
    matrices = random.integers(0, 2**bits, (4, rows, 16), dtype=np.uint64)
    code = newer_assembler.assemble([f"ds_read_b64_tr_b{bits} v[2:3], v0 offset:16"])
    in_read = matrices.reshape(LANES, rows)  # the elements in LDS order, 64 bits per row
    words = (in_read << (np.arange(rows, dtype=np.uint64) * bits)).sum(axis=1, dtype=np.uint64)

    def setup(states):
        states["vgpr"][0, 0] = 8 * LANE
        states["lds"][0, 16 : 16 + 8 * LANES] = words.view(np.uint8)

    after = run(probe, code, setup, vgprs=4, lds=1024)["vgpr"][0]
    got = after[2].astype(np.uint64) | after[3].astype(np.uint64) << np.uint64(32)
    columns = matrices.transpose(0, 2, 1).reshape(LANES, rows)
    np.testing.assert_array_equal(got, (columns << (np.arange(rows, dtype=np.uint64) * bits)).sum(axis=1, dtype=np.uint64))


def test_a_transposing_read_needs_all_lanes(probe, newer_assembler):
    batch = Batch(newer_assembler.assemble(["ds_read_b64_tr_b16 v[2:3], v0"]), 1, vgprs=4, lds=1024)
    set_scalar64(batch.input, EXEC, ALL >> 1)
    assert b"is not modelled" in batch.run(probe, target=TARGET)[0]["fault"]


@pytest.mark.parametrize("dwords", [3, 4])
def test_loads_into_the_lds_of_several_dwords(probe, newer_assembler, random, dwords):
    """Each lane's dwords follow those of the lane before it, starting at M0, which reaches beyond 64 KiB."""
    begin, behind = 100_000, 64
    lines = [
        f"s_mov_b32 m0, {begin}\nglobal_load_lds_dwordx{dwords} v0, s[4:5] offset:{behind}",
        f"s_mov_b32 m0, {begin}\nbuffer_load_dwordx{dwords} v0, s[8:11], 0 offen offset:{behind} lds",
    ]
    places = random.permutation(LANES)
    content = random.integers(0, 256, 2048, dtype=np.uint8)

    def setup(states):
        states["memory"] = content
        states["vgpr"][:, 0] = 16 * places
        set_scalar64(states, 4, MEMORY_ADDRESS)
        set_scalar64(states, 8, MEMORY_ADDRESS)
        states["sgpr"][:, 10], states["sgpr"][:, 11] = content.size, 0x20000

    after = run(probe, newer_assembler.assemble(lines), setup, vgprs=4, lds=160 * 1024, memory=content.size)["lds"]
    expected = np.concatenate([content[behind + 16 * place :][: 4 * dwords] for place in places])
    for got in after:
        # The instruction's offset counts in the LDS as well.
        np.testing.assert_array_equal(got[begin + behind : begin + behind + expected.size], expected)
        assert not got[:begin].any() and not got[begin + behind + expected.size :].any()


# ---- conversions with a scale ----

WIDE = {"f32": (np.float32, 32), "f16": (np.float16, 16), "bf16": (None, 16)}
SMALL = {"fp8": ("e4m3", 8), "bf8": ("e5m2", 8), "fp6": ("e2m3", 6), "bf6": ("e3m2", 6), "fp4": ("e2m1", 4)}
FORM = re.compile(r"v_cvt_scalef32_(?:(pk|pk32|2xpk16)_)?(\w+?)_(\w+)")


def wide_values(bits: np.ndarray, kind: str) -> np.ndarray:
    if kind == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(float)
    of, width = WIDE[kind]
    return bits.astype(f"u{width // 8}").view(of).astype(float)


def unpack(words: np.ndarray, width: int, count: int) -> np.ndarray:
    """[register, lane] -> [element, lane]."""
    numbers = [sum(int(word) << 32 * i for i, word in enumerate(lane)) for lane in words.T]
    return np.array([[number >> width * i & (1 << width) - 1 for number in numbers] for i in range(count)])


def pack(elements: np.ndarray, width: int, registers: int) -> np.ndarray:
    numbers = [sum(int(element) << width * i for i, element in enumerate(lane)) for lane in elements.T]
    return np.array([[number >> 32 * i & 0xFFFFFFFF for number in numbers] for i in range(registers)], np.uint32)


def check_narrowed(kind: str, exact: np.ndarray, got: np.ndarray) -> None:
    """got: bits. The nearest number of the format, or the even one of two equally near ones; none of these is too large."""
    values = np.array(OCP_VALUES[kind])
    exact, got = exact.ravel(), got.ravel()
    distance = np.where(np.isfinite(values), np.abs(values[None, :] - exact[:, None]), np.inf)
    nearest = distance.min(axis=1)
    np.testing.assert_array_equal(distance[np.arange(exact.size), got], nearest)
    tie = np.array([len(set(np.abs(values[row]))) > 1 for row in distance == nearest[:, None]])
    assert (got[tie] % 2 == 0).all()
    np.testing.assert_array_equal(np.signbit(values[got]), np.signbit(exact))


def names(known, pattern: str) -> list[str]:
    return [name for name in known if name.startswith("v_cvt_scalef32_") and re.fullmatch(pattern, name)]


def test_scaled_conversions_to_small_floats(probe, newer_assembler, known, random):
    tested = names(known, r".*_(fp8|bf8|fp6|bf6|fp4)_(f32|f16|bf16)")
    assert len(tested) == 3 * 3 + 2 * 3
    for name in tested:
        form, to, of = FORM.fullmatch(name).groups()
        kind, width = SMALL[to]
        largest = max(value for value in OCP_VALUES[kind] if np.isfinite(value))
        count = 2 if form == "pk" else 32
        scales = random.integers(-3, 4, LANES)
        exact = random.uniform(-1, 1, (count, LANES)) * largest * random.choice([1, 0.1, 0.01], (count, LANES))
        halfway = random.choice([value for value in OCP_VALUES[kind] if np.isfinite(value)], (count // 2, LANES))
        exact[: count // 2] = halfway + random.choice([0, 0.5], halfway.shape) * 2.0**-4
        most = float(np.finfo(np.float16).max) if of == "f16" else np.inf
        exact = np.clip(np.clip(exact, -largest, largest) * 2.0**scales, -most, most)
        if of == "bf16":
            bits = exact.astype(np.float32).view(np.uint32) >> 16
        else:
            bits = exact.astype(WIDE[of][0]).view(f"u{WIDE[of][1] // 8}")
        exact = wide_values(bits, of).reshape(bits.shape) / 2.0**scales
        if of == "f32":  # in two sources, whose elements alternate
            sources = [bits[0::2], bits[1::2]]
        else:
            sources = [pack(bits, 16, count // 2)]
        places = [40, 80]
        scale_register = 3
        operands = [f"v[{place}:{place + len(source) - 1}]" if len(source) > 1 else f"v{place}"
                    for place, source in zip(places, sources, strict=False)]  # fmt: skip
        result = "v[20:25]" if count == 32 else "v20"
        select = "" if count == 32 else " op_sel:[0,0,0,1]" if width == 4 or of == "f32" else " op_sel:[0,0,1]"
        code = newer_assembler.assemble([f"{name} {result}, {', '.join(operands)}, v{scale_register}{select}"])

        def setup(states, sources=sources, scales=scales):
            states["vgpr"][0, 20] = 0x12345678
            states["vgpr"][0, 3] = (2.0**scales).astype(np.float32).view(np.uint32)
            for place, source in zip((40, 80), sources, strict=False):
                states["vgpr"][0, place : place + len(source)] = source

        after = run(probe, code, setup)["vgpr"][0]
        if count == 32:
            got = unpack(after[20:26], width, 32)
        else:
            shift = 16
            kept = 0xFFFFFFFF & ~((1 << 2 * width) - 1 << shift)
            np.testing.assert_array_equal(after[20] & kept, 0x12345678 & kept)
            got = unpack((after[20] >> np.uint32(shift))[None, :], width, 2)
        check_narrowed(kind, exact, got)


def test_scaled_conversions_from_small_floats(probe, newer_assembler, known, random):
    tested = names(known, r".*_(f32|f16|bf16)_(fp8|bf8|fp6|bf6|fp4)")
    assert len(tested) == 2 * 2 + 3 * 3 + 2 * 3
    for name in tested:
        form, to, of = FORM.fullmatch(name).groups()
        kind, width = SMALL[of]
        count = {"pk": 2, "pk32": 32, None: 1}[form]
        scales = random.integers(-3, 4, LANES)
        finite = np.flatnonzero(np.isfinite(OCP_VALUES[kind]))
        bits = random.choice(finite, (max(count, 32 // width), LANES))
        source = pack(bits, width, max(1, count * width // 32))
        first = 0 if count == 32 else {8: 2, 4: 2}[width] if count == 2 else 3  # the element selected by OP_SEL
        select = "" if count == 32 else {1: " op_sel:[1,1,0]", 2: " op_sel:[1,0,0]"}[count]
        place = "v[40:45]" if count == 32 else "v40"
        size = max(1, count * WIDE[to][1] // 32)
        result = f"v[60:{59 + size}]" if size > 1 else "v60"
        code = newer_assembler.assemble([f"{name} {result}, {place}, v3{select}"])

        def setup(states, source=source, scales=scales):
            states["vgpr"][0, 3] = (2.0**scales).astype(np.float32).view(np.uint32)
            states["vgpr"][0, 40 : 40 + len(source)] = source

        after = run(probe, code, setup)["vgpr"][0, 60 : 60 + size]
        expected = np.array(OCP_VALUES[kind])[bits[first : first + count]] * 2.0**scales
        got = wide_values(unpack(after, WIDE[to][1], count), to).reshape(expected.shape)
        with np.errstate(over="ignore"):  # numbers too large for a half become infinite
            rounded = expected.astype(WIDE[to][0] or np.float64).astype(float)
        np.testing.assert_array_equal(got, rounded)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))
