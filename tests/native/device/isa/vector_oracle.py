"""The effect of an instruction of AMD's pseudo-code on one lane, with everything that the pseudo-code leaves to the machine:
operand modifiers, MODE, clamp, flags.

Where the pseudo-code idealises (a rounding step, a scale factor), the instruction is left to test_reference.py,
test_float_mode.py and test_compiled.py; each such case is listed in BEYOND_PSEUDOCODE with its reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from wave import ALL_LANES, DEFAULT_MODE, DX10_CLAMP, EXEC, IEEE, LANES, VCC, set_scalar64

import numpy as np
from float_mode import FloatMode, flushed, is_infinite, joined, parts
from operands import draw_register_pairs
from pseudocode import Library
from pseudocode_storage import Bits
from pseudocode_values import Rounding, float_of, is_nan, rounded
from shapes import RESULT_VGPR, SOURCE_SGPR, SOURCE_VGPR, VGPRS, Form, Format, constant_bits

BEYOND_PSEUDOCODE = {
    "v_rndne": "floor(x + 0.5) rounds twice and loses -0",
    "v_fract": "x - floor(x) rounds to 1.0 just below zero; the hardware stays below one",
    "v_div_scale": "leaves out what D is where nothing is scaled",
    "v_cvt_pkrtz": "changes the rounding mode",
    # for gfx950: see test_newer_instructions.py
    "v_ashr_pk": "does not say what is kept of the destination",
    "v_bitop3": "takes its table from fields of the encoding",
    "v_prng": "uses a reserved word",
    "v_dot2_f32_bf16": "does not say what a constant is",
    "v_dot2c_f32_bf16": "does not say what a constant is",
    "v_cvt_f32_bf16": "does not say what a constant is",
    "v_minimum3": "calls a function that it does not define",
    "v_maximum3": "calls a function that it does not define",
    "v_pk_minimum3": "calls a function that it does not define",
    "v_pk_maximum3": "calls a function that it does not define",
    "v_cvt_pk_bf16": "calls a function that it does not define",
    "v_cvt_scalef32": "calls functions that it does not define",
    "v_permlane16_swap": "is about several lanes",
    "v_permlane32_swap": "is about several lanes",
    "v_div_fmas": "prints 2**32 where the scaling of v_div_scale is 2**64 (see test_float_mode.py)",
    "v_div_fixup": "names the results of underflow and overflow only",
    "v_cvt_pk_u8_f32": "f32_to_u8 does not say that it rounds",
    "v_cvt_pkaccum_u8_f32": "the same",
    "v_cvt_off": "its table is not printed (see test_reference.py)",
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
    "v_smfmac": "matrices (see test_matrix.py)",
    "v_cvt_pk_fp8": "does not say how it rounds (see test_small_float.py)",
    "v_cvt_pk_bf8": "does not say how it rounds (see test_small_float.py)",
    "v_cvt_sr_": "rounds twice (see test_small_float.py)",
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


@dataclass
class State:
    """One wave as plain numbers, which the interpreter processes faster."""

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


def element_size(form: Form) -> int:
    if form.mnemonic.startswith("v_pk_"):
        return 16 if form.mnemonic.endswith("16") else 32
    return form.shape.result.size


def is_float(form: Form) -> bool:
    if form.mnemonic.startswith(("v_pack", "v_cvt_pk")):
        return False
    return "_f" in form.mnemonic.removeprefix("v_pk_") and form.shape.result.kind in "FB"


# ---- one lane ----


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


def clamped(bits: int, size: int, mode: int) -> int:
    number = float_of(bits, size)
    if number != number and not mode & DX10_CLAMP:
        return bits
    if not number > 0:
        return 0
    one = {16: 0x3C00, 32: 0x3F800000, 64: 0x3FF0000000000000}[size]
    return one if number > 1 else bits


# The transcendental unit: single-precision denormals are zero, whatever MODE says, and it rounds in its own way.
FLUSHES = {"v_exp_f32", "v_log_f32", "v_rcp_f32", "v_rcp_iflag_f32", "v_rsq_f32", "v_sqrt_f32"}
# Their pseudo-code moves an operand or flips its sign; as results of floating-point instructions, their NaNs are quiet.
QUIETS = {"v_cubesc_f32", "v_cubetc_f32"}
# Infinite at zero, which is not an overflow.
HAS_POLES = {"v_rcp_f16", "v_rsq_f16", "v_log_f16"}


def entered(form: Form, index: int, bits: int, mode: FloatMode) -> int:
    """An operand after MODE has been applied. Class tests examine the bits, v_pack moves them."""
    size = float_size(form, form.shape.sources[index])
    if not size or "_class_" in form.mnemonic or form.mnemonic.startswith("v_pack"):
        return bits
    return flushed(bits, 32) if form.mnemonic in FLUSHES else entered_parts(form, bits, size, mode)


def entered_parts(form: Form, bits: int, size: int, mode: FloatMode) -> int:
    whole = 2 * size if is_packed(form) else size
    return bits >> whole << whole | joined((mode.operand(part, size) for part in parts(bits, whole, size)), size)


def is_packed(form: Form) -> bool:
    return form.mnemonic.startswith("v_pk_")


def float_size(form: Form, operand: Format | None) -> int:
    """The size of a floating-point operand or result (of each half of a packed one), else 0."""
    if is_packed(form):
        return {"f16": 16, "f32": 32}.get(form.mnemonic[-3:], 0)
    return operand.size if operand and operand.kind == "F" else 0


def rounding_of(form: Form, mode: FloatMode) -> Rounding:
    if form.mnemonic in APPROXIMATE:
        return Rounding.NEAREST
    return mode.rounding(float_size(form, operand) for operand in (*form.shape.sources, form.shape.result))


def left(form: Form, bits: int, sources: list[int], mode: FloatMode) -> int:
    """A floating-point result after MODE has been applied."""
    size = element_size(form)
    count = max(form.shape.result.size, size) // size
    out = []
    for i, part in enumerate(parts(bits, count * size, size)):
        infinite = [is_infinite(n, s) or n == 0 and form.mnemonic in HAS_POLES for n, s in float_operands(form, sources, i)]
        part = mode.modified(part, size, form.output_modifier, rounding_of(form, mode))
        out.append(mode.result(part, size, any(infinite)))
    return bits >> count * size << count * size | joined(out, size)


def accumulates(form: Form) -> bool:
    return form.mnemonic.startswith(("v_fmac_", "v_mac_", "v_pk_fmac_"))


def float_operands(form: Form, sources: list[int], element: int) -> list[tuple[int, int]]:
    """(magnitude, size) of the floats that an element of the result is computed from."""
    found = []
    for bits, operand in zip(sources, [*form.shape.sources, form.shape.result], strict=False):
        if size := float_size(form, operand):
            found.append((bits >> (size * element if is_packed(form) else 0) & (1 << (size - 1)) - 1, size))
    return found


def expected_lane(library: Library, form: Form, state: State, lane: int, sources: list[int] | None = None) -> dict[str, Bits]:
    """sources: the sources' bits, if they differ from those that the form names (DPP, SDWA)."""
    mode = FloatMode(state.mode)
    if sources is None:
        sources = [source_bits(form, i, state, lane) for i in range(len(form.sources))]
    sources = [entered(form, i, bits, mode) for i, bits in enumerate(sources)]
    values: dict[str, object] = {f"S{i}": Bits(bits) for i, bits in enumerate(sources)}
    old = state.lane(RESULT_VGPR, 4, lane)
    if accumulates(form):
        old = entered_parts(form, old, float_size(form, form.shape.result), mode)
    values |= {
        "D0": Bits(old),
        "D1": Bits(),
        "VCC": Bits(state.pair(VCC if form.carry_in is None else form.carry_in), "U", 64),
        "EXEC": Bits(state.pair(EXEC), "U", 64),
        "laneId": Bits(lane, "U", 32),
        "SIMM32": Bits(form.literal or 0),
        "SIMM16": Bits(form.literal or 0),
        "OPSEL": Bits(0),
        "MODE_IEEE": Bits(state.mode >> 9 & 1, "U", 1),
    }
    with rounded(rounding_of(form, mode)):
        library.run(form.mnemonic, values)
    if form.mnemonic in QUIETS and is_nan(values["D0"].bits & 0xFFFFFFFF, 32):
        values["D0"].bits |= 1 << 22
    if is_float(form) and not form.mnemonic.startswith("v_cmp"):
        values["D0"].bits = left(form, values["D0"].bits, [*sources, *([old] if accumulates(form) else [])], mode)
    return values


def result_bits(form: Form, values: dict[str, Bits], mode: int) -> int:
    """The four registers of the result, as they should be."""
    expected = values["D0"].bits
    if form.clamp:
        size = form.shape.result.size
        expected = expected & ~((1 << size) - 1) | clamped(expected & ((1 << size) - 1), size, mode)
    if values["D0"].written == 0xFFFF and form.mnemonic not in KEEPS_UPPER_HALF:
        expected &= ~0xFFFF0000
    return expected


def flag_of(form: Form, values: dict[str, Bits], lane: int) -> int:
    if form.mnemonic.startswith("v_cmp"):
        return values["D0"].bits >> lane & 1
    if form.mnemonic.startswith("v_mad_"):
        return values["D1"].bits & 1
    if form.mnemonic.startswith("v_div_scale"):
        return values["VCC"].bits & 1
    return values["VCC"].bits >> lane & 1


def random_modes(random: np.random.Generator, count: int) -> np.ndarray:
    """MODE with any rounding and denormals; DX10_CLAMP, IEEE and FP16_OVFL or not."""
    return random.integers(0, 256, count) | random.integers(0, 2, (3, count)).T @ [DX10_CLAMP, IEEE, 1 << 23]


def randomise(random: np.random.Generator, states: np.ndarray, any_mode: bool) -> None:
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
    usual = np.where(random.random(count) < 0.7, DEFAULT_MODE, DEFAULT_MODE & ~IEEE)
    states["mode"] = random_modes(random, count) if any_mode else usual
