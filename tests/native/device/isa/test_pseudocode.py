"""The device against an interpreter of AMD's own pseudo-code, on random states."""

from __future__ import annotations

import math
from wave import EXEC, LANES, Batch, lanes_of, mask_of, scalar64

import numpy as np
import pytest
from assemble import Code
from operands import draw
from pseudocode import Library
from pseudocode_storage import Bits
from pseudocode_values import Unsupported, float_of, is_nan
from random_programs import SOPK
from shapes import RESULT_SGPR, RESULT_VGPR, VGPRS, Form, V, scalar_forms, shape_of, vector_forms
from vector_oracle import (
    APPROXIMATE,
    State,
    beyond,
    element_size,
    expected_lane,
    flag_of,
    is_float,
    randomise,
    result_bits,
    source_bits,
)

SCALAR_STATES = 4  # states per form


# ---- comparing ----


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


def check_vector(library: Library, form: Form, before: np.void, after: np.void, lanes: int) -> str | None:
    """A description of the error in the first `lanes` enabled lanes (and all disabled ones), or None."""
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
    expected, got = result_bits(form, values, before.mode), after.lane(RESULT_VGPR, 4, lane)
    return None if same(form, expected, got) else f"{got:#x}, expected {expected:#x}"


def describe(form: Form, state: State, lane: int) -> str:
    sources = ", ".join(hex(source_bits(form, i, state, lane)) for i in range(len(form.sources)))
    return f"sources {sources}, old {state.vgpr[RESULT_VGPR][lane]:#x}, mode {state.mode:#x}"


# ---- the tests ----


def run_forms(assembler, probe, forms: list[Form], random: np.random.Generator, states_each: int, any_mode: bool = False):
    """Yields (form, before, after) for each state of each form that the assembler accepts."""
    accepted = set(assembler.accepted([form.text for form in forms]))
    forms = list({form.text: form for form in forms if form.text in accepted}.values())
    code: Code = assembler.assemble([form.text for form in forms])
    batch = Batch(code, len(forms) * states_each, vgprs=VGPRS)
    randomise(random, batch.input, any_mode)
    batch.input["entry"] = np.repeat(code.entry, states_each)
    results = batch.run(probe, target=assembler.target)
    for i in range(len(results)):
        yield forms[i // states_each], batch.input[i], results[i]


def mnemonics_of(library: Library, known: dict[str, int], prefix: tuple[str, ...], exclude: tuple[str, ...] = ()) -> list[str]:
    found = [m for m in library.definitions if m in known and m.startswith(prefix) and not m.startswith(exclude)]
    return [m for m in found if not beyond(m)]


def report(failures: dict[str, str], tested: set[str], at_least: int) -> None:
    text = "\n".join(failures.values())
    assert not failures, f"{len(failures)} instructions are wrong:\n{text}"
    assert len(tested) >= at_least, f"only {len(tested)} instructions were tested: {sorted(tested)}"


def check_forms(
    assembler, probe, library, forms, random, states_each, check, any_mode=False
) -> tuple[dict[str, str], set[str]]:
    """The first failure of each mnemonic, and all mnemonics that were tested."""
    failures: dict[str, str] = {}
    tested = set()
    for form, before, after in run_forms(assembler, probe, forms, random, states_each, any_mode):
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
    "other": (("v_",), ("u8", "u4", "i8", "i4"), 9),
}


def vector_family(library: Library, known: dict[str, int], family: str) -> list[str]:
    prefix, suffix, _ = FAMILIES[family]
    exclude = () if prefix[0] == "v_cmp_" else ("v_cmp", "v_accvgpr")
    return [m for m in mnemonics_of(library, known, prefix, exclude) if m.endswith(suffix)]


def run_vector_family(
    probe, assembler, library, known, random, family: str, states_each: int, lanes: int, any_mode: bool = False
) -> None:
    forms = []
    for mnemonic in vector_family(library, known, family):
        forms += vector_forms(mnemonic, shape_of(library.definitions[mnemonic]))

    def check(library: Library, form: Form, before: np.void, after: np.void) -> str | None:
        plain = all(source == V for source in form.sources)
        return check_vector(library, form, before, after, max(lanes, LANES // 4) if plain else lanes)

    failures, tested = check_forms(assembler, probe, library, forms, random, states_each, check, any_mode)
    report(failures, tested, FAMILIES[family][2])


@pytest.mark.parametrize("family", FAMILIES)
def test_vector_instructions(probe, assembler, library, known, random, family):
    run_vector_family(probe, assembler, library, known, random, family, 1, 3)


OF_FLOATS = [family for family in FAMILIES if "f" in family and "other" != family] + ["32", "16"]


@pytest.mark.parametrize("family", OF_FLOATS)
def test_vector_instructions_in_any_mode(probe, assembler, library, known, random, family):
    """All roundings, denormals flushed and kept, halves that saturate; output modifiers work where denormals are flushed."""
    run_vector_family(probe, assembler, library, known, random, family, 1, 6, any_mode=True)


@pytest.mark.slow
@pytest.mark.parametrize("any_mode", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_vector_instructions_at_length(probe, assembler, library, known, random, family, any_mode):
    run_vector_family(probe, assembler, library, known, random, family, 10, LANES, any_mode)


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
    """A few programs with known results: an oracle that agrees with everything would be useless."""
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
