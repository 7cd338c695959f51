"""An instruction's operands, derived from its pseudo-code, and the assembly forms that exercise it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

# The registers of operands in the tests, with room for four registers each.
SOURCE_VGPR = (0, 4, 8)
RESULT_VGPR = 12
SOURCE_SGPR = (8, 10, 12)
CARRY_IN_SGPR, RESULT_SGPR = 16, 20
VGPRS = 16

INLINE_FLOATS = {"0.5": 0.5, "-0.5": -0.5, "1.0": 1.0, "-1.0": -1.0, "2.0": 2.0, "-2.0": -2.0, "4.0": 4.0, "-4.0": -4.0}


@dataclass(frozen=True)
class Format:
    kind: str  # U, I, F, B
    size: int  # bits

    @property
    def registers(self) -> int:
        return max(1, self.size // 32)


@dataclass(frozen=True)
class Shape:
    sources: tuple[Format, ...]
    result: Format | None


def format_of(name: str, text: str) -> Format | None:
    """How `text` uses the operand `name`: the widest access, and F if any access of that size is floating-point."""
    typed = re.findall(rf"\b{name}(?:\[[^\]]*\])?\.([uifb])(\d+)", text)
    sliced = [int(high) + 1 for high in re.findall(rf"\b{name}(?:\.[uifb]\d+)?\[(\d+) ?:", text)]
    if not typed and not sliced and not re.search(rf"\b{name}\b", text):
        return None
    sizes = [{24: 32, 8: 32, 4: 32}.get(int(size), int(size)) for _, size in typed]
    widest = max(sizes + [64 if s > 32 and s <= 64 else 128 if s > 64 else 32 for s in sliced] or [32])
    kinds = {kind.upper() for (kind, _), size in zip(typed, sizes, strict=True) if size == widest}
    return Format("F" if "F" in kinds else "I" if "I" in kinds else "U" if "U" in kinds else "B", widest)


def shape_of(text: str) -> Shape:
    sources = [format_of(f"S{i}", text) for i in range(3)]
    count = max((i + 1 for i, s in enumerate(sources) if s), default=0)
    # Half a register, with zeros above.
    half = re.search(r"D0 = \{ 16'0, tmp\.([uif])16 \}", text)
    result = Format(half[1].upper(), 16) if half else format_of("D0", text)
    return Shape(tuple(s or Format("B", 32) for s in sources[:count]), result)


def constant_bits(text: str, operand: Format) -> int:
    """The bits of an inline constant or literal in an operand: `text` as the assembler reads it."""
    mask = (1 << max(operand.size, 32)) - 1
    if text in INLINE_FLOATS:
        number = INLINE_FLOATS[text]
        kind = {16: np.float16, 64: np.float64}.get(operand.size, np.float32)
        return int(kind(number).view(f"u{np.dtype(kind).itemsize}"))
    value = int(text, 0)
    if operand.size == 64 and text.startswith("0x"):
        if operand.kind == "F":
            return value << 32
        return (value | ~0xFFFFFFFF) & mask if operand.kind == "I" and value >> 31 else value
    return value & mask


@dataclass(frozen=True)
class Source:
    """v: vector register, s: scalar register, c: constant."""

    kind: str = "v"
    text: str = ""
    negate: bool = False
    absolute: bool = False

    def render(self, index: int, operand: Format) -> str:
        if self.kind == "c":
            body = self.text
        else:
            first = (SOURCE_VGPR if self.kind == "v" else SOURCE_SGPR)[index]
            body = register(self.kind, first, operand.registers)
        body = f"|{body}|" if self.absolute else body
        return f"-{body}" if self.negate else body


def register(kind: str, first: int, count: int) -> str:
    return f"{kind}{first}" if count == 1 else f"{kind}[{first}:{first + count - 1}]"


@dataclass(frozen=True)
class Form:
    """One line of assembly, and what the oracle must know about it."""

    mnemonic: str
    text: str
    sources: tuple[Source, ...]
    clamp: bool = False
    output_modifier: str = ""
    carry_in: int | None = None  # SGPR pair
    carry_out: int | None = None
    literal: int | None = None  # among those in LITERALS
    shape: Shape = field(compare=False, default=None)


V, S = Source("v"), Source("s")


CONSTANTS = [Source("c", text) for text in ("1", "-16", "64", "0.5", "-4.0", "0x8765abcd", "0x3f9df3b6")]


def source_choices(shape: Shape, constants: list[Source]) -> list[tuple[Source, ...]]:
    """Combinations of source kinds; the assembler rejects those that an encoding cannot have."""
    count = len(shape.sources)
    everything = [(V,) * count]
    for at in range(count):
        for other in (S, *constants):
            everything.append(tuple(other if i == at else V for i in range(count)))
    if count > 1:
        everything.append((S,) * count)
        everything.append((V, S) + (V,) * (count - 2))
    return everything


def modified(shape: Shape) -> list[tuple[Source, ...]]:
    """Sources with neg and abs, on floating-point operands."""
    floats = [i for i, s in enumerate(shape.sources) if s.kind == "F"]
    combinations = []
    for at in floats:
        for negate, absolute in ((True, False), (False, True), (True, True)):
            combinations.append(tuple(Source("v", "", negate, absolute) if i == at else V for i in range(len(shape.sources))))
    if len(floats) == len(shape.sources):
        combinations.append(tuple(Source("v", "", True, i % 2 == 0) for i in range(len(shape.sources))))
    return combinations


CARRY_OUT = {"v_add_co_u32", "v_sub_co_u32", "v_subrev_co_u32"}
CARRY_BOTH = {"v_addc_co_u32", "v_subb_co_u32", "v_subbrev_co_u32"}
LITERALS = {name: 0x40490FDB for name in ("v_fmamk_f32", "v_fmaak_f32", "v_madmk_f32", "v_madak_f32")}
LITERALS |= {name: 0x4248 for name in ("v_madmk_f16", "v_madak_f16")}
FLAG_OUT = {"v_div_scale_f32", "v_div_scale_f64", "v_mad_u64_u32", "v_mad_i64_i32"}


def vector_forms(mnemonic: str, shape: Shape) -> list[Form]:
    """Candidates: e32 and e64 with all kinds of sources, then modifiers."""
    forms = []
    # The effect of op_sel_hi on a constant is left to test_packed.py.
    for sources in source_choices(shape, [] if mnemonic.startswith("v_pk_") else CONSTANTS):
        forms.append(vector_form(mnemonic, shape, sources, "_e32"))
        forms.append(vector_form(mnemonic, shape, sources, "_e64"))
        forms.append(vector_form(mnemonic, shape, sources, ""))
    for sources in modified(shape):
        forms.append(vector_form(mnemonic, shape, sources, "_e64"))
        forms.append(vector_form(mnemonic, shape, sources, ""))
    if shape.result and shape.result.kind == "F" and not mnemonic.startswith("v_cmp"):
        for suffix in ("_e64", ""):
            forms.append(vector_form(mnemonic, shape, (V,) * len(shape.sources), suffix, clamp=True))
            for modifier in ("mul:2", "mul:4", "div:2"):
                forms.append(vector_form(mnemonic, shape, (V,) * len(shape.sources), suffix, modifier=modifier))
    return forms


def vector_form(
    mnemonic: str, shape: Shape, sources: tuple[Source, ...], suffix: str, clamp: bool = False, modifier: str = ""
) -> Form:
    rendered = [s.render(i, shape.sources[i]) for i, s in enumerate(sources)]
    in_vcc = suffix == "_e32"
    carry_in = carry_out = literal = None
    if mnemonic.startswith("v_cmp"):
        carry_out = 106 if in_vcc else RESULT_SGPR
        operands = ["vcc" if in_vcc else register("s", RESULT_SGPR, 2), *rendered]
    else:
        operands = [register("v", RESULT_VGPR, shape.result.registers), *rendered]
    if mnemonic in CARRY_OUT | CARRY_BOTH | FLAG_OUT:
        carry_out = 106 if in_vcc else RESULT_SGPR
        operands.insert(1, "vcc" if in_vcc else register("s", RESULT_SGPR, 2))
    if mnemonic in CARRY_BOTH or mnemonic == "v_cndmask_b32":
        carry_in = 106 if in_vcc else CARRY_IN_SGPR
        operands.append("vcc" if in_vcc else register("s", CARRY_IN_SGPR, 2))
    if mnemonic.startswith("v_div_fmas"):
        carry_in = 106
    if mnemonic in LITERALS:
        literal = LITERALS[mnemonic]
        operands.insert(2 if "mk_" in mnemonic else 3, hex(literal))
        suffix = ""
    text = " ".join([f"{mnemonic}{suffix} {', '.join(operands)}", *(["clamp"] if clamp else []), modifier]).rstrip()
    return Form(mnemonic, text, sources, clamp, modifier, carry_in, carry_out, literal, shape)


def scalar_forms(mnemonic: str, shape: Shape, compare: bool) -> list[Form]:
    """SOP1, SOP2 and SOPC. Result in s[20:21], sources from s8."""
    forms = []
    shape = Shape(tuple(Format(s.kind, max(s.size, 32)) for s in shape.sources), shape.result)  # there are no others
    # Whether this instruction's literal is signed is not documented; no compiler emits one.
    constants = [c for c in CONSTANTS if not (mnemonic == "s_flbit_i32_i64" and c.text.startswith("0x"))]
    for sources in source_choices(shape, constants):
        sources = tuple(S if s.kind == "v" else s for s in sources)
        operands = [s.render(i, shape.sources[i]) for i, s in enumerate(sources)]
        if not compare:
            operands.insert(0, register("s", RESULT_SGPR, shape.result.registers))
        forms.append(Form(mnemonic, f"{mnemonic} {', '.join(operands)}", sources, shape=shape))
    return list({form.text: form for form in forms}.values())
