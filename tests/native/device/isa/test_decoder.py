"""Assembler -> comgr's disassembler -> decoder: nothing that the device knows is lost, nothing unknown is skipped."""

from __future__ import annotations

import subprocess
from wave import Batch

import pytest
from assembly_forms import lines_of

# No target of the device has them in its assembler; the table has them for related targets, or from a row for all memories.
OTHER_TARGETS = {"v_mad_mix_f32", "v_mad_mixlo_f16", "v_mad_mixhi_f16", "flat_atomic_csub"}
# Accepted by the assembler but deliberately refused by the device, identified by part of the line.
REFUSED_ON_PURPOSE = (
    "ds_gws_",  # between the XCDs of a gfx942
    "src_shared_base",  # the result of a 32-bit read of an aperture register is not documented
    *(f"v_pk_fmac_f16{form}" for form in ("_dpp", "_sdwa")),  # two halves, by an encoding of unpacked instructions
    *(f"v_pk_fmac_f16{form} v16, {operands}" for form in ("", "_e64")
      for operands in ("-v4", "|", "-|", *(f"v4, v8 {modifier}" for modifier in ("op_sel:[1", "op_sel:[0,1", "mul:", "div:")))),
    # constants for bfloats, whose bits are not documented
    *(f"v_cvt_f32_bf16{form} v16, {constant}" for form in ("", "_e32", "_e64") for constant in ("1", "-4.0", "0.1", "0x")),
    *(f"v_dot2{form} v16, {constant}"
      for form in ("_f32_bf16", "_f32_bf16_e64", "c_f32_bf16", "c_f32_bf16_e32", "c_f32_bf16_e64")
      for constant in ("1", "-4.0", "0.1", "0x")),
    *(f"v_ashr_pk_{kind}_i32{form} v16, v4, v8, v12 op_sel:[{half}" for kind in ("i8", "u8") for form in ("", "_e64")
      for half in ("1", "0,1", "0,0,1")),
    "_f32 v16, v4, v8 op_sel:[1",  # halves of a single
    "_f32 v16, v4, v8 op_sel:[0,1",
    "_f32_e64 v16, v4, v8 op_sel:[1",
    "_f32_e64 v16, v4, v8 op_sel:[0,1",
)  # fmt: skip

REFUSED_ON_RDNA = ("buffer_load_format_", "buffer_store_format_")  # its formats have other numbers there


def decode(probe, code: bytes) -> list[tuple[str, str]]:
    """(ok or refused, text) of each instruction."""
    result = subprocess.run([probe, "decode"], input=code, capture_output=True)
    assert result.returncode == 0, result.stderr.decode()
    return [tuple(line.split(" ", 2)[1:]) for line in result.stdout.decode().splitlines()]


@pytest.fixture(scope="module")
def decoded_by_target(
    assembler, older_assembler, rdna_assembler, newer_assembler, probe, known
) -> dict[str, dict[str, list[tuple[str, str, str]]]]:
    candidates = [(name, line) for name, entry in known.items() for line in dict.fromkeys(lines_of(entry))]
    assemblers = (assembler, older_assembler, rdna_assembler, newer_assembler)
    return {one.target: decoded_of(one, probe, known, candidates) for one in assemblers}


@pytest.fixture(params=["gfx942", "gfx90a", "gfx1030", "gfx950"])
def target(request):
    return request.param


@pytest.fixture
def decoded(target, decoded_by_target):
    return decoded_by_target[target]


def decoded_of(assembler, probe, known, candidates: list[tuple[str, str]]) -> dict[str, list[tuple[str, str, str]]]:
    """Mnemonic -> (line, ok or refused, decoded text) for each candidate that the assembler accepts. candidates: mnemonics with
    their lines.
    """
    accepted = set(assembler.accepted([line for _, line in candidates]))
    candidates = [(name, line) for name, line in candidates if line in accepted]
    code = assembler.assemble([line for _, line in candidates])
    offsets = {}
    command = [probe, "decode", assembler.target]
    for line in subprocess.run(command, input=code.code, capture_output=True).stdout.decode().splitlines():
        offset, verdict, text = line.split(" ", 2)
        offsets[int(offset)] = verdict, text
    outcome: dict[str, list[tuple[str, str, str]]] = {name: [] for name in known}
    for (name, line), entry in zip(candidates, code.entry, strict=True):
        outcome[name].append((line, *offsets[entry]))
    return outcome


def test_every_known_instruction_assembles(decoded_by_target):
    missing = set.intersection(*({name for name, lines in one.items() if not lines} for one in decoded_by_target.values()))
    missing -= OTHER_TARGETS
    assert not missing, f"the assembler takes no form of: {sorted(missing)}"


def test_every_encoding_of_a_known_instruction_decodes(decoded, target):
    lines = [row for rows in decoded.values() for row in rows]
    assert len(lines) > 7500
    allowed = REFUSED_ON_PURPOSE + REFUSED_ON_RDNA * (target == "gfx1030")
    wrong = [row for row in lines if row[1] == "refused" and not any(part in row[0] for part in allowed)]
    assert not wrong, f"{len(wrong)} of {len(lines)} refused:\n" + "\n".join(
        f"{line} -> {text}" for line, _, text in wrong[:60]
    )


def test_all_encodings_are_exercised(decoded_by_target):
    texts = [text for decoded in decoded_by_target.values() for rows in decoded.values() for _, _, text in rows]
    for part in (
        "_e32 ",
        "_e64 ",
        "_dpp ",
        "_sdwa ",
        "op_sel:",
        "op_sel_hi:",
        "neg_lo:",
        "clamp",
        "|",
        "sext(",
        "sc0",
        "glc",
        "offset0:",
    ):
        assert any(part in text for text in texts), part


UNKNOWN = ["v_exp_legacy_f32 v0, v1", "s_cbranch_g_fork s[2:3], s[4:5]", "ds_gws_sema_p gds",
           "image_load v0, v1, s[0:7]", "s_setvskip s1, s2"]  # fmt: skip


def test_an_unknown_instruction_is_refused_when_it_runs(assembler, probe):
    lines = assembler.accepted(UNKNOWN)
    assert len(lines) >= 2
    code = assembler.assemble([f"s_mov_b32 s0, 7\n{line}" for line in lines])
    batch = Batch(code, len(lines))
    batch.input["entry"] = code.entry
    for line, after in zip(lines, batch.run(probe), strict=True):
        assert after["faulted"] and after["sgpr"][0] == 7, line
        text = after["fault"].decode()
        assert line.split()[0] in text and "does not know" in text


def test_bytes_that_are_not_an_instruction_are_refused(assembler, probe):
    code = assembler.assemble([".long 0xffffffff"])
    after = Batch(code, 1).run(probe)[0]
    assert after["faulted"] and "not an instruction" in after["fault"].decode()


UNKNOWN_MODIFIERS = ["v_mfma_f32_32x32x2_f32 v[0:15], v16, v17, v[0:15] cbsz:1 abid:1", "v_med3_i16 v0, v1, v2, v3 clamp",
                     "v_pk_lshlrev_b16 v0, v1, v2 clamp", "ds_add_u32 v0, v1 gds", "v_cvt_pk_fp8_f32 v0, v1, v2 op_sel:[1,0,0]",
                     "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3] blgp:1"]  # fmt: skip


def test_an_unknown_modifier_is_refused(assembler, probe):
    lines = assembler.accepted(UNKNOWN_MODIFIERS)
    assert len(lines) >= 4
    for line, (verdict, text) in zip(
        lines,
        [d for d in decode(probe, assembler.assemble(lines).code) if "s_endpgm" not in d[1] and "s_nop" not in d[1]],
        strict=False,
    ):
        assert verdict == "refused" and "not modelled" in text, line
