"""Lines of assembly for an entry of the device's table, in every conceivable encoding; the assembler decides which exist."""

from __future__ import annotations

import itertools

WIDE = ("b64", "i64", "f64")
ENCODINGS = ("", "_e32", "_e64")
DPP_CONTROLS = ("quad_perm:[3,2,1,0]", "row_shl:1", "row_shr:15", "row_ror:4", "wave_shl:1", "wave_shr:1", "wave_rol:1",
                "wave_ror:1", "row_mirror", "row_half_mirror", "row_bcast:15", "row_bcast:31", "row_newbcast:3")  # fmt: skip
SDWA_SELECTS = ("BYTE_0", "BYTE_3", "WORD_1", "DWORD")

EXAMPLES = {
    "s_branch": ["1"], "s_cbranch_scc0": ["1"], "s_cbranch_scc1": ["1"], "s_cbranch_vccz": ["1"], "s_cbranch_vccnz": ["1"],
    "s_cbranch_execz": ["1"], "s_cbranch_execnz": ["1"], "s_setpc_b64": ["s[2:3]"], "s_swappc_b64": ["s[2:3], s[4:5]"],
    "s_getpc_b64": ["s[2:3]"], "s_call_b64": ["s[2:3], 1"], "s_endpgm": [""], "s_barrier": [""], "s_nop": ["0", "7"],
    "s_waitcnt": ["vmcnt(0)", "lgkmcnt(3)", "vmcnt(63) expcnt(7) lgkmcnt(15)", "0"], "s_sleep": ["1"], "s_setprio": ["3"],
    "s_sethalt": ["0"], "s_sendmsg": ["sendmsg(MSG_INTERRUPT)"], "s_trap": ["2"], "s_icache_inv": [""], "s_incperflevel": ["1"],
    "s_decperflevel": ["1"], "s_ttracedata": [""],
    "s_getreg_b32": ["s4, hwreg(HW_REG_MODE)", "s4, hwreg(HW_REG_MODE, 4, 2)", "s4, hwreg(HW_REG_STATUS)"],
    "s_setreg_b32": ["hwreg(HW_REG_MODE, 9, 1), s4"], "s_setreg_imm32_b32": ["hwreg(HW_REG_MODE, 9, 1), 0x1"],
    "s_memtime": ["s[2:3]"], "s_memrealtime": ["s[2:3]"], "s_dcache_inv": [""], "s_dcache_wb": [""], "s_dcache_inv_vol": [""],
    "s_dcache_wb_vol": [""], "s_cmov_b32": ["s4, s5"], "v_nop": [""], "ds_nop": [""],
    "buffer_wbl2": ["sc1", "sc0 sc1"], "buffer_inv": ["sc1", "sc0 sc1"], "buffer_invl2": [""], "buffer_wbinvl1": [""],
    "buffer_wbinvl1_vol": [""],
    "v_accvgpr_read_b32": ["v4, a5"], "v_accvgpr_write_b32": ["a4, v5", "a4, 1.0"], "v_accvgpr_mov_b32": ["a4, a5"],
    "v_readlane_b32": ["s4, v5, s6", "s4, v5, 63"], "v_writelane_b32": ["v4, s5, s6", "v4, 1, 63", "v4, s5, m0"],
    "v_readfirstlane_b32": ["s4, v5"], "v_swap_b32": ["v4, v5"],
    "v_permlane16_swap_b32": ["v4, v5"], "v_permlane32_swap_b32": ["v4, v5"],
    "s_set_gpr_idx_on": ["s4, gpr_idx(SRC0)", "4, gpr_idx(SRC0,SRC1,SRC2,DST)", "m0, gpr_idx()"],
    "s_set_gpr_idx_mode": ["gpr_idx(DST)", "gpr_idx()"],
    "v_fmamk_f32": ["v4, v5, 0x40490fdb, v6", "v4, s5, 0x40490fdb, v6"], "v_fmaak_f32": ["v4, v5, v6, 0x40490fdb"],
    "v_madmk_f32": ["v4, v5, 0x40490fdb, v6"], "v_madak_f32": ["v4, v5, v6, 0x40490fdb"],
    "ds_gws_init": ["v4 gds"], "ds_gws_barrier": ["v4 gds"],
    "v_madmk_f16": ["v4, v5, 0x4248, v6", "v4, s5, 0x4248, v6"], "v_madak_f16": ["v4, v5, v6, 0x4248"],
    "v_mqsad_u32_u8": ["v[4:7], v[8:9], v10, v[12:15]", "v[4:7], s[8:9], 1, v[12:15] clamp"],
    "s_waitcnt_vscnt": ["null, 0x0", "null, 0x3f"], "s_waitcnt_depctr": ["0xfffe"], "s_clause": ["0x3"],
    "s_inst_prefetch": ["0x3"],
    "s_round_mode": ["0x5"], "s_denorm_mode": ["0xa"], "s_ttracedata_imm": ["0x1"], "s_gl1_inv": [""], "buffer_gl0_inv": [""],
    "buffer_gl1_inv": [""],
    "v_permlane16_b32": ["v4, v5, s6, s7", "v4, v5, s6, 1 op_sel:[1,0]", "v4, v5, -1, s7 op_sel:[0,1]"],
    "v_permlanex16_b32": ["v4, v5, s6, s7", "v4, v5, s6, 1 op_sel:[1,1]"],
    "v_fmamk_f16": ["v4, v5, 0x4248, v6", "v4, s5, 0x4248, v6"], "v_fmaak_f16": ["v4, v5, v6, 0x4248"],
    "v_movrels_b32": ["v4, v5"], "v_movreld_b32": ["v4, v5", "v4, s5", "v4, 1"], "v_movrelsd_b32": ["v4, v5"],
    "v_movrelsd_2_b32": ["v4, v5"], "v_swaprel_b32": ["v4, v5"],
    "ds_append": ["v4", "v4 offset:16"], "ds_consume": ["v4", "v4 offset:65532"],
    "ds_bpermute_b32": ["v4, v5, v6", "v4, v5, v6 offset:8"], "ds_permute_b32": ["v4, v5, v6"],
    "ds_swizzle_b32": ["v4, v5 offset:swizzle(QUAD_PERM,0,1,2,3)", 'v4, v5 offset:swizzle(BITMASK_PERM,"01pip")',
                       "v4, v5 offset:swizzle(SWAP,16)", "v4, v5 offset:swizzle(REVERSE,8)",
                       "v4, v5 offset:swizzle(BROADCAST,32,5)"],
}  # fmt: skip


def registers(kind: str, first: int, bits: int) -> str:
    count = max(1, bits // 32)
    return f"{kind}{first}" if count == 1 else f"{kind}[{first}:{first + count - 1}]"


def width(kind: str, entry) -> int:
    return 64 if kind in WIDE or entry.mnemonic.startswith("v_pk_") and entry.mnemonic.endswith(("_f32", "mov_b32")) else 32


def lines_of(entry) -> list[str]:
    """Candidate lines for an entry (see conftest.Entry)."""
    name = entry.mnemonic
    if name in EXAMPLES:
        return [f"{name} {operands}".strip() for operands in EXAMPLES[name]]
    if name.startswith(("buffer_", "tbuffer_")):
        return buffer_lines(entry)
    if name.startswith(("flat_", "global_", "scratch_")):
        return memory_lines(entry)
    if name.startswith("ds_"):
        return lds_lines(entry)
    if name.startswith(("s_load", "s_buffer_load")):
        return scalar_load_lines(name)
    if name.startswith(("s_store", "s_atomic", "s_buffer_store", "s_buffer_atomic")):
        return scalar_store_lines(name)
    if name.endswith("_f8f6f4"):
        return format_lines(name)
    if name.startswith("v_mfma"):
        return matrix_lines(name)
    if name.startswith("v_cvt_scalef32"):
        return scaled_lines(name)
    if name.startswith("v_bitop3"):
        lines = vector_lines(entry)
        return lines + [f"{line} bitop3:{table}" for line in lines for table in ("0x96", "0x1")]
    if name.startswith("v_smfmac"):
        return sparse_matrix_lines(name)
    if name.startswith("s_"):
        return scalar_lines(entry)
    return vector_lines(entry)


def scalar_lines(entry) -> list[str]:
    name = entry.mnemonic
    operands = [registers("s", 4, width(entry.destination_type, entry))] if entry.destinations else []
    if name.startswith(("s_movk", "s_cmovk", "s_addk", "s_mulk", "s_cmpk")):
        return [f"{name} s4, 0x1234"]
    sources = [registers("s", 8 + 4 * i, width(kind, entry)) for i, kind in enumerate(entry.source_types)]
    lines = [f"{name} {', '.join(operands + sources)}"]
    for special in ("vcc", "exec", "m0", "vcc_lo", "0x12345678", "-1", "0.5", "src_scc", "src_vccz", "src_execz",
                    "src_shared_base",                     "ttmp4", "flat_scratch", "xnack_mask_lo"):  # fmt: skip
        lines.append(f"{name} {', '.join([*operands, special, *sources[1:]])}")
    return lines


def vector_lines(entry) -> list[str]:
    name = entry.mnemonic
    sources = list(entry.source_types[: len(entry.source_types) - entry.accumulates])
    rendered = [registers("v", 4 + 4 * i, width(kind, entry)) for i, kind in enumerate(sources)]
    compare = name.startswith("v_cmp")
    lines = []
    for encoding in ENCODINGS:
        masks = ["vcc"] if encoding == "_e32" else ["s[20:21]", "vcc"]
        for mask in masks:
            operands = [mask] if compare else [registers("v", 16, width(entry.destination_type, entry))]
            operands += [mask] if entry.destinations == 2 else []
            tail = rendered
            if name == "v_cndmask_b32" or name.startswith(("v_addc_co", "v_subb_co", "v_subbrev_co")):
                tail = [*rendered[:2], mask]
            lines.append(f"{name}{encoding} {', '.join(operands + tail)}")
            lines += modifier_lines(entry, f"{name}{encoding} ", operands, tail)
    mask = ["vcc"] if entry.destinations == 2 else []
    plain = ["vcc"] if compare else [registers("v", 16, width(entry.destination_type, entry)), *mask]
    tail = (
        [*rendered[:2], "vcc"]
        if "carry" in name or name == "v_cndmask_b32" or name.startswith(("v_addc_co", "v_subb"))
        else rendered
    )
    lines += [f"{name}_dpp {', '.join(plain + tail)} {control} row_mask:0xf bank_mask:0x3" for control in DPP_CONTROLS]
    lines += [f"{name}_dpp {', '.join(plain + tail)} row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:0"]
    for destination, source in itertools.product(SDWA_SELECTS, SDWA_SELECTS):
        first = "" if compare else f" dst_sel:{destination} dst_unused:UNUSED_PRESERVE"
        second = f" src1_sel:{source}" if len(rendered) > 1 else ""
        lines.append(f"{name}_sdwa {', '.join(plain + tail)}{first} src0_sel:{source}{second}")
    if rendered:
        first = "" if compare else " dst_sel:WORD_1 dst_unused:UNUSED_SEXT"
        second = " src1_sel:BYTE_1" if len(rendered) > 1 else ""
        lines.append(f"{name}_sdwa {', '.join([*plain, f'sext({tail[0]})', *tail[1:]])}{first} src0_sel:WORD_1{second}")
    return lines


def modifier_lines(entry, start: str, operands: list[str], tail: list[str]) -> list[str]:
    if not tail:
        return []
    first, rest = tail[0], tail[1:]
    lines = []
    for changed in (
        f"-{first}",
        f"|{first}|",
        f"-|{first}|",
        "s2",
        "s[2:3]",
        "1",
        "-4.0",
        "0.15915494",
        "0x12345678",
        "vcc_lo",
        "m0",
    ):
        lines.append(f"{start}{', '.join([*operands, changed, *rest])}")
    whole = f"{start}{', '.join(operands + tail)}"
    lines += [f"{whole} {modifier}" for modifier in ("mul:2", "mul:4", "div:2")]
    if entry.destination_type in ("f16", "f32", "f64", "pk_f16"):
        lines.append(f"{whole} clamp")
    count = len(tail)
    if entry.packed:
        for modifier in ("op_sel", "op_sel_hi", "neg_lo", "neg_hi"):
            lines += [f"{whole} {modifier}:[{','.join(str(i >> b & 1) for b in range(count))}]" for i in range(1 << count)]
    elif entry.destination_type in ("b16", "f16"):
        lines += [f"{whole} op_sel:[{','.join(str(i >> b & 1) for b in range(count + 1))}]" for i in range(1 << (count + 1))]
    return lines


def memory_lines(entry) -> list[str]:
    name = entry.mnemonic
    is_load = "_load_" in name
    data = registers("v", 12, (16 if "cmpswap" in name else 8) * entry.bytes)
    result = registers("v", 20, 8 * entry.bytes)
    lines = []
    for offset in ("", " offset:16", " offset:4095"):
        for cache in ("", " sc0", " nt", " sc0 sc1", " sc0 nt sc1"):
            for address, base in memory_addresses(name):
                operands = [address] if "_lds_" in name else [result, address] if is_load else [address, data]
                lines.append(f"{name} {', '.join(operands + base)}{offset}{cache}")
                if "_atomic_" in name and "sc0" in cache:
                    lines.append(f"{name} {', '.join([result, address, data, *base])}{offset}{cache}")
    return lines


FORMATS = (" format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_SINT]", " format:[BUF_NUM_FORMAT_FLOAT]", " format:0", "")


def buffer_lines(entry) -> list[str]:
    data = registers("v", 12, (16 if "cmpswap" in entry.mnemonic else 8) * -(-entry.bytes // 4) * 4)
    lines = []
    for address, form in (("off", ""), ("v2", " offen"), ("v2", " idxen"), ("v[2:3]", " idxen offen")):
        forms = FORMATS if entry.mnemonic.startswith("tbuffer_") else ("",)
        for offset, base, encoding in itertools.product(("", " offset:16", " offset:4095"), ("s8", "0", "m0"), forms):
            for cache in ("", " sc0", " nt", " sc0 sc1", " sc0 nt sc1"):
                lines.append(f"{entry.mnemonic} {data}, {address}, s[4:7], {base}{encoding}{form}{offset}{cache}")
                lines.append(f"{entry.mnemonic} {address}, s[4:7], {base}{form}{offset}{cache} lds")
    return lines


def memory_addresses(name: str) -> list[tuple[str, list[str]]]:
    if name.startswith("flat_"):
        return [("v[2:3]", [])]
    if name.startswith("global_"):
        return [("v[2:3]", ["off"]), ("v2", ["s[4:5]"])]
    return [("v2", ["off"]), ("off", ["s4"]), ("v2", ["s4"]), ("off", ["off"])]


def lds_lines(entry) -> list[str]:
    name = entry.mnemonic
    paired = name.startswith(("ds_read2", "ds_write2", "ds_wrxchg2"))
    offsets = ("", " offset0:1 offset1:2", " offset0:255") if paired else ("", " offset:16", " offset:65535")
    two_data = "write2" in name or "wrxchg2" in name or "cmpst" in name or "mskor" in name or "wrap" in name
    half = 4 * entry.bytes if paired else 8 * entry.bytes
    lines = []
    for offset in offsets:
        operands = [registers("v", 20, 8 * entry.bytes)] if entry.destinations else []
        if "addtid" not in name:
            operands.append("v2")
        if not name.startswith("ds_read"):
            operands += [registers("v", 4, half)] + ([registers("v", 8, half)] if two_data else [])
        lines.append(f"{name} {', '.join(operands)}{offset}")
    return lines


def scalar_load_lines(name: str) -> list[str]:
    count = int(name.rpartition("x")[2]) if name[-1].isdigit() else 1
    base = "s[4:7]" if "buffer" in name else "s[4:5]"
    result = registers("s", 16, 32 * count)
    return [
        f"{name} {result}, {base}, {offset}" for offset in ("0x0", "0x10", "s8", "s8 offset:0x10", "-0x10", "0x1ffff8", "m0")
    ]


def scalar_store_lines(name: str) -> list[str]:
    base = "s[4:7]" if "buffer" in name else "s[4:5]"
    data = [registers("s", 16, 32 * count) for count in (1, 2, 4)]
    offsets = ("0x0", "0x10", "s8", "s8 offset:0x10", "m0")
    return [f"{name} {d}, {base}, {offset}{cache}" for d, offset, cache in itertools.product(data, offsets, ("", " glc"))]


def sparse_matrix_lines(name: str) -> list[str]:
    lines = []
    for a, d, kind, modifiers in itertools.product((64, 128), (4, 16), "va", ("", " abid:1", " cbsz:1 abid:1")):
        operands = [registers(kind, 32, 32 * d), registers("v", 0, a), registers("v", 8, 2 * a), "v16"]
        lines.append(f"{name} {', '.join(operands)}{modifiers}")
    return lines


FORMAT_BITS = (8, 8, 6, 6, 4)  # by CBSZ and BLGP


def format_lines(name: str) -> list[str]:
    lines = []
    scales = (["v50, v51", "v50, v51 op_sel:[1,0,0] op_sel_hi:[0,1,0]", "v50, v51 op_sel_hi:[1,1,0]"] if "scale" in name
              else [""])  # fmt: skip
    d = registers("v", 32, 32 * (4 if "16x16" in name else 16))
    for (a, of_a), (b, of_b), c, scale in itertools.product(enumerate(FORMAT_BITS), enumerate(FORMAT_BITS), (d, "0"), scales):
        operands = [d, registers("v", 0, 32 * of_a), registers("v", 8, 32 * of_b), c, *filter(None, [scale])]
        lines.append(f"{name} {', '.join(operands)} cbsz:{a} blgp:{b}")
    return lines


ELEMENT_BITS = {"f32": 32, "f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "fp6": 6, "bf6": 6, "fp4": 4}


def scaled_lines(name: str) -> list[str]:
    """Of v_cvt_scalef32_[COUNT_]TO_FROM: COUNT elements fill the registers of the wider type, or of one source."""
    *_, to, of = name.split("_")
    count = 32 if "pk32" in name or "2xpk16" in name else 2 if "_pk_" in name else 1
    narrows = ELEMENT_BITS[to] < ELEMENT_BITS[of]
    result = registers("v", 20, max(32, count * ELEMENT_BITS[to]))
    pairs = narrows and of == "f32"  # in two sources
    width = max(32, count * ELEMENT_BITS[of] // (2 if pairs else 1))
    sources = [registers("v", 60, width), registers("v", 80, width)] if pairs else [registers("v", 60, width)]
    lines = [f"{name} {', '.join([result, *sources, scale])}" for scale in ("v3", "s3", "1.0")]
    selects = [[i >> b & 1 for b in range(length)] for length in (3, 4) for i in range(1 << length)]
    return lines + [f"{lines[0]} op_sel:[{','.join(map(str, bits))}]" for bits in selects if any(bits)]


def matrix_lines(name: str) -> list[str]:
    lines = []
    for a, b, d, c in itertools.product((1, 2, 4, 8), (1, 2, 4, 8), (2, 4, 8, 16, 32), ("same", "0", "1.0")):
        for kind in "va":
            result = registers(kind, 32, 32 * d)
            third = result if c == "same" else c
            lines.append(f"{name} {result}, {registers('v', 0, 32 * a)}, {registers('v', 8, 32 * b)}, {third}")
    if "b_" in name:  # several blocks
        lines += [f"{line} cbsz:1 abid:1 blgp:1" for line in lines]
    return lines
