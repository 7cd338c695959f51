"""The device against an interpreter of AMD's own pseudo-code, on random states.

Where the pseudo-code idealises (a rounding step, a scale factor) the instruction is left to test_reference.py and
test_division.py; each such case stands in BEYOND_PSEUDOCODE with its reason.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from wave import ALL_LANES, DEFAULT_MODE, EXEC, IEEE, LANES, VCC, Batch, lanes_of, mask_of, scalar64, set_scalar64

import numpy as np
import pytest
from assemble import Code
from operands import draw, draw_register_pairs
from pseudocode import Library
from pseudocode_storage import Bits
from pseudocode_values import Unsupported, float_of, is_nan
from shapes import (
    RESULT_SGPR,
    RESULT_VGPR,
    SOURCE_SGPR,
    SOURCE_VGPR,
    VGPRS,
    Form,
    V,
    constant_bits,
    scalar_forms,
    shape_of,
    vector_forms,
)

BEYOND_PSEUDOCODE = {
    "v_rndne": "floor(x + 0.5) rounds twice and loses -0",
    "v_fract": "x - floor(x) rounds to 1.0 just below zero; the hardware stays below one",
    "v_div_scale": "leaves out what D is where nothing is scaled (see test_division.py)",
    "v_cvt_pkrtz": "changes the rounding mode",
    "v_div_fmas": "prints 2**32 where the scaling of v_div_scale is 2**64 (see test_division.py)",
    "v_div_fixup": "names the results of underflow and overflow only",
    "v_cvt_pk_u8_f32": "f32_to_u8 does not say that it rounds",
    "v_cvt_rpi": "the sum with one half rounds",
    "v_sin": "its argument is a product that rounds (see test_reference.py)",
    "v_cos": "its argument is a product that rounds (see test_reference.py)",
    "v_readlane": "lanes (see test_lanes.py)",
    "v_readfirstlane": "lanes (see test_lanes.py)",
    "v_writelane": "lanes (see test_lanes.py)",
    "v_swap": "two results (see test_lanes.py)",
    "v_mad_mix": "another name here (see test_reference.py)",
    "v_pk_mov": "op_sel (see test_reference.py)",
    "v_dot2": "the order of its roundings (see test_reference.py)",
    "v_mfma": "matrices (see test_matrix.py)",
    "v_frexp": "mantissa and exponent of denormals and zero (see test_reference.py)",
    "v_trig_preop": "1201 bits of 2/pi",
}
# The transcendental unit: within one ulp, denormals flushed.
APPROXIMATE = {"v_exp_f32", "v_log_f32", "v_rcp_f32", "v_rcp_iflag_f32", "v_rsq_f32", "v_sqrt_f32", "v_rcp_f64", "v_rsq_f64",
               "v_sqrt_f64", "v_exp_f16", "v_log_f16", "v_rcp_f16", "v_rsq_f16", "v_sqrt_f16"}  # fmt: skip
# 16-bit results clear the upper half, as gfx8's did, except in the instructions that gfx9 introduced or changed
# (LLVM: GCNSubtarget::zeroesHigh16BitsOfDest), which are those that take op_sel.
KEEPS_UPPER_HALF = {"v_mad_f16", "v_mad_u16", "v_mad_i16", "v_fma_f16", "v_div_fixup_f16", "v_add_i16", "v_sub_i16",
                    *(f"v_{f}3_{t}" for f in ("min", "max", "med") for t in ("f16", "i16", "u16"))}  # fmt: skip

SCALAR_STATES = 4  # states a form


@dataclass
class State:
    """One wave, as plain numbers: the interpreter is quicker with them."""

    vgpr: list[list[int]]
    sgpr: list[int]
    scc: int
    mode: int

    @classmethod
    def of(cls, row: np.void) -> State:
        return cls(row["vgpr"].tolist(), row["sgpr"].tolist(), int(row["scc"]), int(row["mode"]))

    def pair(self, register: int) -> int:
        return self.sgpr[register] | self.sgpr[register + 1] << 32

    def lane(self, register: int, count: int, lane: int) -> int:
        return sum(self.vgpr[register + i][lane] << (32 * i) for i in range(count))

    def scalar(self, register: int, count: int) -> int:
        return sum(self.sgpr[register + i] << (32 * i) for i in range(count))


def beyond(mnemonic: str) -> bool:
    return any(mnemonic.startswith(prefix) for prefix in BEYOND_PSEUDOCODE)


# ---- comparing ----


def element_size(form: Form) -> int:
    if form.mnemonic.startswith("v_pk_"):
        return 16 if form.mnemonic.endswith("16") else 32
    return form.shape.result.size


def is_float(form: Form) -> bool:
    return "_f" in form.mnemonic.removeprefix("v_pk_") and form.shape.result.kind in "FB" and "cvt_pk" not in form.mnemonic


def same_float(expected: int, got: int, size: int, approximate: bool) -> bool:
    if expected == got:
        return True
    if is_nan(expected, size):
        return is_nan(got, size) and bool(got >> {16: 9, 32: 22, 64: 51}[size] & 1)
    return approximate and close(expected, got, size)


def close(expected: int, got: int, size: int) -> bool:
    smallest = {16: 0x400, 32: 0x800000, 64: 1 << 52}[size]
    magnitude = (1 << (size - 1)) - 1
    if expected & magnitude < smallest and size == 32:  # flushed
        return got & magnitude in (0, smallest)
    return abs(expected - got) <= 1


def same(form: Form, expected: int, got: int) -> bool:
    if not is_float(form):
        return expected == got
    step = element_size(form)
    approximate = form.mnemonic in APPROXIMATE
    mask = (1 << step) - 1
    parts = range(0, max(form.shape.result.size, step), step)
    return all(same_float(expected >> at & mask, got >> at & mask, step, approximate) for at in parts) and (
        expected >> max(form.shape.result.size, step) == got >> max(form.shape.result.size, step)
    )


# ---- the oracle for one lane ----


def source_bits(form: Form, index: int, state: State, lane: int) -> int:
    source, operand = form.sources[index], form.shape.sources[index]
    if source.kind == "c":
        bits = constant_bits(source.text, operand)
    elif source.kind == "s":
        bits = state.scalar(SOURCE_SGPR[index], operand.registers)
    else:
        bits = state.lane(SOURCE_VGPR[index], operand.registers, lane)
    sign = 1 << (operand.size - 1)
    if source.absolute:
        bits &= ~sign
    return bits ^ sign if source.negate else bits


def is_denormal(bits: int) -> bool:
    return bits & 0x7F800000 == 0


def clamped(bits: int, size: int) -> int:
    number = float_of(bits, size)
    if not number > 0:  # NaN too: DX10_CLAMP
        return 0
    one = {16: 0x3C00, 32: 0x3F800000, 64: 0x3FF0000000000000}[size]
    return one if number > 1 else bits


FLUSHES = {"v_exp_f32", "v_log_f32", "v_rcp_f32", "v_rcp_iflag_f32", "v_rsq_f32", "v_sqrt_f32"}


def expected_lane(library: Library, form: Form, state: State, lane: int) -> dict[str, Bits]:
    sources = [source_bits(form, i, state, lane) for i in range(len(form.sources))]
    if form.mnemonic in FLUSHES:
        sources = [bits & 0x80000000 if is_denormal(bits) else bits for bits in sources]
    values: dict[str, object] = {f"S{i}": Bits(bits) for i, bits in enumerate(sources)}
    values |= {
        "D0": Bits(state.lane(RESULT_VGPR, 4, lane)),
        "D1": Bits(),
        "VCC": Bits(state.pair(VCC if form.carry_in is None else form.carry_in), "U", 64),
        "EXEC": Bits(state.pair(EXEC), "U", 64),
        "laneId": Bits(lane, "U", 32),
        "SIMM32": Bits(form.literal or 0),
        "OPSEL": Bits(0),
        "MODE_IEEE": Bits(state.mode >> 9 & 1, "U", 1),
    }
    library.run(form.mnemonic, values)
    return values


def check_vector(library: Library, form: Form, before: np.void, after: np.void, lanes: int) -> str | None:
    """What is wrong in the first `lanes` enabled lanes (and all disabled ones), or None."""
    if after["faulted"]:
        return f"refused: {after['fault'].decode()}"
    enabled = lanes_of(int(scalar64(before, EXEC)))
    changed = (before["vgpr"] != after["vgpr"]).any(axis=0)
    if (changed & ~enabled).any():
        return "a disabled lane changed"
    before, after = State.of(before), State.of(after)
    flags = after.pair(form.carry_out) if form.carry_out is not None else 0
    if flags & ~mask_of(enabled):
        return "a disabled lane has a flag"
    for lane in np.flatnonzero(enabled)[:lanes].tolist():
        values = expected_lane(library, form, before, lane)
        if why := check_lane(form, values, flags, before, after, lane):
            return f"lane {lane}: {why}; {describe(form, before, lane)}"
    if form.mnemonic.startswith("v_cmpx") and after.pair(EXEC) != flags:
        return "exec differs from the result"
    return None


def check_lane(form: Form, values: dict[str, Bits], flags: int, before: State, after: State, lane: int) -> str | None:
    if form.carry_out is not None and flags >> lane & 1 != flag_of(form, values, lane):
        return f"flag {flags >> lane & 1}"
    if form.mnemonic.startswith("v_cmp"):
        return None
    expected, got = values["D0"].bits, after.lane(RESULT_VGPR, 4, lane)
    if form.clamp:
        size = form.shape.result.size
        expected = expected & ~((1 << size) - 1) | clamped(expected & ((1 << size) - 1), size)
    if values["D0"].written == 0xFFFF and form.mnemonic not in KEEPS_UPPER_HALF:
        expected &= ~0xFFFF0000
    return None if same(form, expected, got) else f"{got:#x}, expected {expected:#x}"


def flag_of(form: Form, values: dict[str, Bits], lane: int) -> int:
    if form.mnemonic.startswith("v_cmp"):
        return values["D0"].bits >> lane & 1
    if form.mnemonic.startswith("v_mad_"):
        return values["D1"].bits & 1
    if form.mnemonic.startswith("v_div_scale"):
        return values["VCC"].bits & 1
    return values["VCC"].bits >> lane & 1


def describe(form: Form, state: State, lane: int) -> str:
    sources = ", ".join(hex(source_bits(form, i, state, lane)) for i in range(len(form.sources)))
    return f"sources {sources}, old {state.vgpr[RESULT_VGPR][lane]:#x}, mode {state.mode:#x}"


# ---- the tests ----


def randomise(random: np.random.Generator, states: np.ndarray) -> None:
    count = len(states)
    for first in range(0, VGPRS, 2):
        pairs = draw_register_pairs(random, (count, LANES))
        states["vgpr"][:, first] = pairs & np.uint64(0xFFFFFFFF)
        states["vgpr"][:, first + 1] = pairs >> np.uint64(32)
    for first in range(0, 32, 2):
        set_scalar64(states, first, draw_register_pairs(random, count))
    set_scalar64(states, VCC, random.integers(0, ALL_LANES, count, np.uint64, endpoint=True))
    partial = random.integers(0, ALL_LANES, count, np.uint64, endpoint=True)
    set_scalar64(states, EXEC, np.where(random.random(count) < 0.7, np.uint64(ALL_LANES), partial))
    states["scc"] = random.integers(0, 2, count)
    states["mode"] = np.where(random.random(count) < 0.7, DEFAULT_MODE, DEFAULT_MODE & ~IEEE)


def run_forms(assembler, probe, forms: list[Form], random: np.random.Generator, states_each: int):
    """Yields (form, before, after) for each state of each form that the assembler takes."""
    accepted = set(assembler.accepted([form.text for form in forms]))
    forms = list({form.text: form for form in forms if form.text in accepted}.values())
    code: Code = assembler.assemble([form.text for form in forms])
    batch = Batch(code, len(forms) * states_each, vgprs=VGPRS)
    randomise(random, batch.input)
    batch.input["entry"] = np.repeat(code.entry, states_each)
    results = batch.run(probe)
    for i in range(len(results)):
        yield forms[i // states_each], batch.input[i], results[i]


def mnemonics_of(library: Library, known: dict[str, int], prefix: tuple[str, ...], exclude: tuple[str, ...] = ()) -> list[str]:
    found = [m for m in library.definitions if m in known and m.startswith(prefix) and not m.startswith(exclude)]
    return [m for m in found if not beyond(m)]


def report(failures: dict[str, str], tested: set[str], at_least: int) -> None:
    text = "\n".join(failures.values())
    assert not failures, f"{len(failures)} instructions are wrong:\n{text}"
    assert len(tested) >= at_least, f"only {len(tested)} instructions were tested: {sorted(tested)}"


def check_forms(assembler, probe, library, forms, random, states_each, check) -> tuple[dict[str, str], set[str]]:
    """The first failure of each mnemonic, and all mnemonics that were tested."""
    failures: dict[str, str] = {}
    tested = set()
    for form, before, after in run_forms(assembler, probe, forms, random, states_each):
        if form.mnemonic in failures:
            continue
        try:
            why = check(library, form, before, after)
        except Unsupported as reason:
            why = f"the interpreter cannot run its pseudo-code: {reason}"
        tested.add(form.mnemonic)
        if why:
            failures[form.mnemonic] = f"{form.text}: {why}"
    return failures, tested


FAMILIES = {
    "compare f16": (("v_cmp_", "v_cmpx_"), "f16", 28),
    "compare f32": (("v_cmp_", "v_cmpx_"), "f32", 28),
    "compare f64": (("v_cmp_", "v_cmpx_"), "f64", 28),
    "compare 16": (("v_cmp_", "v_cmpx_"), ("i16", "u16"), 24),
    "compare 32": (("v_cmp_", "v_cmpx_"), ("i32", "u32"), 24),
    "compare 64": (("v_cmp_", "v_cmpx_"), ("i64", "u64"), 24),
    "f16": (("v_",), "f16", 18),
    "f32": (("v_",), "f32", 30),
    "f64": (("v_",), "f64", 14),
    "16": (("v_",), ("i16", "u16", "b16"), 24),
    "32": (("v_",), ("i32", "u32", "b32", "i24", "u24"), 60),
    "64": (("v_",), ("i64", "u64", "b64"), 4),
    "other": (("v_",), ("u8", "u4", "i8", "i4"), 1),
}


def vector_family(library: Library, known: dict[str, int], family: str) -> list[str]:
    prefix, suffix, _ = FAMILIES[family]
    exclude = () if prefix[0] == "v_cmp_" else ("v_cmp", "v_accvgpr")
    return [m for m in mnemonics_of(library, known, prefix, exclude) if m.endswith(suffix)]


def run_vector_family(probe, assembler, library, known, random, family: str, states_each: int, lanes: int) -> None:
    forms = []
    for mnemonic in vector_family(library, known, family):
        forms += vector_forms(mnemonic, shape_of(library.definitions[mnemonic]))

    def check(library: Library, form: Form, before: np.void, after: np.void) -> str | None:
        plain = all(source == V for source in form.sources)
        return check_vector(library, form, before, after, LANES if plain else lanes)

    failures, tested = check_forms(assembler, probe, library, forms, random, states_each, check)
    report(failures, tested, FAMILIES[family][2])


@pytest.mark.parametrize("family", FAMILIES)
def test_vector_instructions(probe, assembler, library, known, random, family):
    run_vector_family(probe, assembler, library, known, random, family, 1, 3)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_vector_instructions_at_length(probe, assembler, library, known, random, family):
    run_vector_family(probe, assembler, library, known, random, family, 10, LANES)


# ---- scalar instructions ----

STATEFUL_SCALAR = ("s_set_gpr", "s_movrel", "s_getpc", "s_setpc", "s_swappc", "s_call", "s_getreg", "s_setreg", "s_cbranch")


def check_scalar(library: Library, form: Form, before: np.void, after: np.void) -> str | None:
    if after["faulted"]:
        return f"refused: {after['fault'].decode()}"
    before, after = State.of(before), State.of(after)
    old = before.pair(RESULT_SGPR)
    values: dict[str, object] = {f"S{i}": Bits(source_bits(form, i, before, 0)) for i in range(len(form.sources))}
    values |= {"D0": Bits(old), "SCC": Bits(before.scc, "U", 1), "EXEC": Bits(before.pair(EXEC), "U", 64)}
    if form.shape.result and form.shape.result.size < 64:
        values["D0"] = Bits(old & 0xFFFFFFFF)
    library.run(form.mnemonic, values)
    expected, got = values["D0"].bits, after.pair(RESULT_SGPR)
    if form.shape.result is None or form.shape.result.size < 64:
        expected = expected & 0xFFFFFFFF | old & ~0xFFFFFFFF
    sources = ", ".join(hex(values[f"S{i}"].bits) for i in range(len(form.sources)))
    if expected != got:
        return f"{got:#x}, expected {expected:#x}; sources {sources}"
    if after.scc != values["SCC"].bits & 1:
        return f"scc {after.scc}, expected {values['SCC'].bits & 1}; sources {sources}"
    if after.pair(EXEC) != values["EXEC"].bits:
        return "exec differs"
    return None


def test_scalar_instructions(probe, assembler, library, known, random):
    forms = []
    for mnemonic in mnemonics_of(library, known, ("s_",), (*STATEFUL_SCALAR, "s_load", "s_buffer", "s_dcache", "s_mem")):
        text = library.definitions[mnemonic]
        if mnemonic.endswith("_i32") and ("k_i32" in mnemonic or "cmpk" in mnemonic) or "cmpk" in mnemonic:
            continue
        shape = shape_of(text)
        if not shape.sources:
            continue
        forms += scalar_forms(mnemonic, shape, compare=shape.result is None)
    failures, tested = check_forms(assembler, probe, library, forms, random, SCALAR_STATES, check_scalar)
    report(failures, tested, 110)


SOPK = ["s_movk_i32", "s_cmovk_i32", "s_addk_i32", "s_mulk_i32",
        *(f"s_cmpk_{test}_{kind}32" for kind in "iu" for test in ("eq", "lg", "gt", "ge", "lt", "le"))]  # fmt: skip


def test_scalar_instructions_with_immediate(probe, assembler, library, random):
    immediates = [0, 1, 0x7FFF, 0x8000, 0xFFFF, 0x1234, 0xEDCB]
    lines = [(mnemonic, value) for mnemonic in SOPK for value in immediates]
    code = assembler.assemble([f"{mnemonic} s20, {value:#x}" for mnemonic, value in lines])
    batch = Batch(code, len(lines) * SCALAR_STATES)
    batch.input["entry"] = np.repeat(code.entry, SCALAR_STATES)
    batch.input["scc"] = random.integers(0, 2, len(batch.input))
    batch.input["sgpr"][:, 20] = draw(random, len(batch.input), 32)
    for i, (before, after) in enumerate(zip(batch.input, batch.run(probe), strict=True)):
        mnemonic, value = lines[i // SCALAR_STATES]
        old = int(before["sgpr"][20])
        first = Bits(old) if "cmpk" in mnemonic else Bits(value)
        values = {"S0": first, "S1": Bits(value), "D0": Bits(old), "SCC": Bits(int(before["scc"]), "U", 1)}
        library.run(mnemonic, values)
        got = (int(after["sgpr"][20]), int(after["scc"]))
        assert got == (values["D0"].bits & 0xFFFFFFFF, values["SCC"].bits & 1), (mnemonic, hex(value), hex(old))


def test_the_interpreter_itself():
    """A few programs with known results: an oracle that agrees with everything is none."""
    library = Library(
        {"v_half_f32": "D0.f32 = S0.f32 * 0.5F", "v_pack_b32": "D0[31 : 16].u16 = S1.u16;\nD0[15 : 0].u16 = S0.u16"}
    )
    state = {"S0": Bits(0x40400000), "D0": Bits()}
    library.run("v_half_f32", state)
    assert state["D0"].bits == 0x3FC00000
    state = {"S0": Bits(0x12345678), "S1": Bits(0x9ABCDEF0), "D0": Bits()}
    library.run("v_pack_b32", state)
    assert state["D0"].bits == 0xDEF05678
    assert float_of(0x3C00, 16) == 1.0 and math.isnan(float_of(0x7FC00000, 32))
