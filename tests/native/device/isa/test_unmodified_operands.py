"""The faster way to execute vector instructions in their plain form against the general way, which the other tests compare with
references: both must leave the same bits in all registers.
"""

from __future__ import annotations

import re
import subprocess
from wave import EXEC, Batch, scalar64, set_scalar64

import numpy as np
import pytest
from operands import draw
from shapes import LITERALS, VGPRS, Format, Shape, vector_forms
from vector_oracle import randomise

STATES = 3
FORMATS = {
    "f16": Format("F", 16), "f32": Format("F", 32), "f64": Format("F", 64), "i32": Format("I", 32), "i64": Format("I", 64),
    "b32": Format("B", 32), "b64": Format("B", 64),
}  # fmt: skip
RESULT = re.compile(r"v12\b|v\[12:13\]")


@pytest.fixture(scope="module")
def plain(probe) -> list[str]:
    return subprocess.run([probe, "plain-forms"], check=True, capture_output=True, text=True).stdout.split()


def forms_of(mnemonic: str, known) -> list[str]:
    """Lines with all kinds of sources; the assembler rejects those that do not exist."""
    if mnemonic.startswith("v_accvgpr"):
        return [f"{mnemonic} {to}, {source}" for to in ("v12", "a2") for source in ("v4", "a1", "1.0")]
    entry = known[mnemonic]
    types = list(entry.source_types)
    if entry.accumulates or mnemonic == "v_cndmask_b32":
        types.pop()
    if mnemonic in LITERALS:
        types.pop(1 if "mk_" in mnemonic else 2)
    shape = Shape(tuple(FORMATS[name] for name in types), FORMATS[entry.destination_type])
    return [form.text for form in vector_forms(mnemonic, shape)]


def onto_sources(line: str) -> list[str]:
    """The same with the result in registers that are also sources, wholly or in part."""
    return [
        RESULT.sub(lambda wide, at=at: f"v[{at}:{at + 1}]" if "[" in wide[0] else f"v{at}", line, count=1) for at in (0, 1, 4)
    ]


def halves_of(mnemonic: str) -> list[str]:
    """Packed instructions with each choice of halves for each source."""
    count = 3 if "fma" in mnemonic else 2
    halves = mnemonic.endswith("f16")
    operands = (["v0", "v4", "v8"] if halves else ["v[0:1]", "v[4:5]", "v[8:9]"])[:count]
    result, scalar = ("v12", "s8") if halves else ("v[12:13]", "s[8:9]")
    lines = []
    for choice in range(4**count):
        low = [choice >> 2 * i & 1 for i in range(count)]
        high = [choice >> 2 * i + 1 & 1 for i in range(count)]
        for to, first in ((result, operands[0]), (operands[0], operands[0]), (result, scalar), (result, "1.0")):
            sources = ", ".join([first, *operands[1:]])
            lines.append(f"{mnemonic} {to}, {sources} op_sel:{low} op_sel_hi:{high}".replace(" ", "").replace(
                mnemonic, mnemonic + " ").replace("op_sel", " op_sel"))  # fmt: skip
    return lines


def check(assembler, probe, random, lines: list[str]) -> None:
    code = assembler.assemble(lines)
    batch = Batch(code, STATES * len(lines), vgprs=VGPRS, agprs=4)
    randomise(random, batch.input, any_mode=False)
    # No lane, the first, the last, all but one of a half.
    edges = random.choice(np.array([0, 1, 1 << 63, 0xFFFFFFFF, 0xFFFFFFFEFFFFFFFF], np.uint64), len(batch.input))
    set_scalar64(batch.input, EXEC, np.where(random.random(len(edges)) < 0.2, edges, scalar64(batch.input, EXEC)))
    batch.input["agpr"] = draw(random, batch.input["agpr"].shape, 32)
    batch.input["entry"] = np.repeat(code.entry, STATES)
    fast, general = (batch.run(probe, how, assembler.target) for how in ("run", "run-general"))
    different = dict.fromkeys(lines[i // STATES] for i in np.flatnonzero(fast != general))
    assert not different, f"{len(different)} differ, among them {list(different)[:20]}"


def check_forms(assemblers, probe, known, plain, random, most: int) -> None:
    """Runs each line on the first target that has it."""
    lines = []
    for name in plain:
        if name.startswith("v_pk_"):
            continue
        forms = dict.fromkeys(line for form in forms_of(name, known) for line in (form, *onto_sources(form)))
        lines += random.permutation(list(forms))[:most].tolist()
    tested: set[str] = set()
    for assembler in assemblers:
        accepted = assembler.accepted([line for line in lines if mnemonic_of(line) not in tested])
        tested |= set(map(mnemonic_of, accepted))
        check(assembler, probe, random, accepted)
    assert tested == {name for name in plain if not name.startswith("v_pk_")}


def mnemonic_of(line: str) -> str:
    return re.sub("_e(32|64)$", "", line.split()[0])


def test_both_ways_give_the_same(probe, assembler, older_assembler, rdna_assembler, newer_assembler, known, plain, random):
    assert len(plain) > 150
    check_forms((assembler, older_assembler, rdna_assembler, newer_assembler), probe, known, plain, random, most=12)


@pytest.mark.slow
def test_both_ways_give_the_same_in_every_form(
    probe, assembler, older_assembler, rdna_assembler, newer_assembler, known, plain, random
):
    check_forms((assembler, older_assembler, rdna_assembler, newer_assembler), probe, known, plain, random, most=10_000)


@pytest.mark.parametrize(
    "name", ["v_pk_fma_f32", "v_pk_mul_f32", "v_pk_add_f32", "v_pk_fma_f16", "v_pk_add_f16", "v_pk_mul_f16"]
)
def test_packed_instructions(probe, assembler, plain, random, name):
    assert name in plain
    check(assembler, probe, random, halves_of(name))


@pytest.mark.parametrize("line", ["v_pk_fma_f16 v12, v0, v4, v8", "v_fma_f16 v12, v0, v4, v8", "v_fma_f16 v12, -v0, v4, v8"])
def test_fused_halves_are_rounded_once(probe, assembler, random, line):
    """Sums near the middle between two halves, where rounding to a single first would often change the result."""
    batch = Batch(assembler.assemble([line]), 400, vgprs=VGPRS)
    shape = (*batch.input["vgpr"][:, 0].shape, 2)
    scale = np.exp2(random.choice([0, -11, -25], shape))  # normal halves, the least of them, and denormal ones
    factor, other = (1 + random.integers(-3, 4, shape) / 1024 for _ in range(2))
    summand = random.choice([-1, 1], shape) * 2 * random.integers(1024, 2048, shape) * scale
    exact = factor * scale * other + summand
    for register, values in ((0, factor * scale), (4, other), (8, summand)):
        assert (values == (halves := values.astype(np.float16))).mean() > 0.6
        batch.input["vgpr"][:, register] = halves.view(np.uint32)[..., 0]
    set_scalar64(batch.input, EXEC, np.uint64(2**64 - 1))
    fast, general = batch.run(probe), batch.run(probe, "run-general")
    assert (fast == general).all()
    twice = exact.astype(np.float32).astype(np.float16)
    assert (twice != exact.astype(np.float16)).mean() > 0.01  # the data can show the difference


@pytest.mark.parametrize("name", ["v_exp_f32", "v_log_f32"])
def test_estimated_results(probe, assembler, plain, random, name):
    """On numbers of all sizes whose results are neither 0 nor infinite, which is rare with random bits."""
    assert name in plain
    batch = Batch(assembler.assemble([f"{name} v12, v0"]), 400, vgprs=VGPRS)
    shape = batch.input["vgpr"][:, 0].shape
    numbers = random.uniform(-151, 129, shape) if name == "v_exp_f32" else np.exp2(random.uniform(-127, 128, shape))
    close_to_one = 1 + random.normal(size=shape) * np.exp2(random.uniform(-24, 0, shape))
    batch.input["vgpr"][:, 0] = np.where(random.random(shape) < 0.3, close_to_one, numbers).astype(np.float32).view(np.uint32)
    set_scalar64(batch.input, EXEC, np.uint64(2**64 - 1))
    fast, general = batch.run(probe), batch.run(probe, "run-general")
    assert (fast == general).all()
    assert len(np.unique(fast["vgpr"][:, 12])) > 0.8 * fast["vgpr"][:, 12].size
