"""DS: local data share accesses and atomics against a byte-by-byte model, and the cross-lane moves."""

from __future__ import annotations

import re
from wave import ALL_LANES, EXEC, LANES, M0, Batch, lanes_of, scalar64, set_scalar64

import numpy as np
import pytest
from assembly_forms import registers
from atomic_reference import UPDATES
from lds_model import (
    ADDRESS,
    DATA,
    DATA2,
    RESULT,
    VGPRS,
    atomic_of,
    edge_expected,
    lanes_words,
    read_expected,
    word_count,
)
from patterns import patterned
from swizzle import SWIZZLES, reversed_bits

LDS = 65536


# ---- reads and writes ----


def simple_cases(known) -> list[tuple[str, str, list[int], int]]:
    """(name, line, byte offsets, bytes of each) of plain and paired reads and writes."""
    cases = []
    for name in known:
        match = re.fullmatch(r"ds_(read|write)(2|2st64)?_([bui])(\d+)(_d16)?(_hi)?", name)
        if not match:
            continue
        kind, paired, _, bits, _, _ = match.groups()
        size = int(bits) // 8
        stride = size * (64 if paired == "2st64" else 1)
        for first, second in ((0, 1), (3, 2), (31, 7)) if paired else ((0, 0), (16, 0), (4000, 0)):
            whole = registers("v", RESULT, 8 * size * (2 if paired else 1))
            data = [registers("v", DATA, 8 * size)] + ([registers("v", DATA2, 8 * size)] if paired else [])
            operands = [whole, f"v{ADDRESS}"] if kind == "read" else [f"v{ADDRESS}", *data]
            text = f"offset0:{first} offset1:{second}" if paired else f"offset:{first}"
            offsets = [first * stride, second * stride] if paired else [first]
            cases.append((name, f"{name} {', '.join(operands)} {text}", offsets, size))
    return cases


def prepare(random, code, count: int) -> Batch:
    batch = Batch(code, count, vgprs=VGPRS, lds=LDS)
    batch.input["lds"] = random.integers(0, 256, batch.input["lds"].shape)
    batch.input["vgpr"] = random.integers(0, 2**32, batch.input["vgpr"].shape)
    set_scalar64(batch.input, EXEC, random.integers(0, ALL_LANES, count, np.uint64, endpoint=True))
    return batch


def test_reads_and_writes(assembler, probe, known, random):
    cases = 4 * simple_cases(known)
    assert len({name for name, *_ in cases}) >= 28
    code = assembler.assemble([line for _, line, _, _ in cases])
    batch = prepare(random, code, len(cases))
    batch.input["entry"] = code.entry
    for (_, _, _, size), state in zip(cases, batch.input, strict=True):
        if random.integers(3):
            state["vgpr"][ADDRESS] = patterned(random, size, min(size, 4))
            state["sgpr"][EXEC : EXEC + 2] = 0xFFFFFFFF
            continue
        slots = random.permutation(128)[:LANES] * 16
        state["vgpr"][ADDRESS] = slots + (random.integers(0, 3, LANES) * size if size < 4 else 0)
    for (name, line, offsets, size), before, after in zip(cases, batch.input, batch.run(probe), strict=True):
        assert not after["faulted"], (line, after["fault"])
        memory = bytearray(before["lds"].tobytes())
        vgpr = before["vgpr"].copy()
        enabled = np.flatnonzero(lanes_of(int(before["sgpr"][EXEC]) | int(before["sgpr"][EXEC + 1]) << 32))
        for part in range(len(offsets)):  # a paired write does all first halves, then all second ones
            for lane in enabled:
                at = int(before["vgpr"][ADDRESS, lane]) + offsets[part]
                if "write" in name:
                    data = lanes_words(before, (DATA, DATA2)[part], max(1, size // 4), lane) >> (
                        16 if name.endswith("_hi") else 0
                    )
                    memory[at : at + size] = (data & (1 << 8 * size) - 1).to_bytes(size, "little")
        for lane in enabled:
            if "read" in name:
                at = [int(before["vgpr"][ADDRESS, lane]) + offset for offset in offsets]
                for register, word in read_expected(name, at, size, memory).items():
                    vgpr[register, lane] = word
        assert after["lds"].tobytes() == bytes(memory), line
        assert np.array_equal(after["vgpr"], vgpr), line


def test_the_address_register_may_be_a_result(assembler, probe):
    batch = Batch(assembler.assemble(["ds_read2_b32 v[2:3], v2 offset0:1 offset1:4"]), 1, vgprs=4, lds=1024)
    batch.input["lds"][0] = np.arange(256, dtype="<u4").view("u1")
    batch.input["vgpr"][0, 2] = np.arange(LANES) * 8
    after = batch.run(probe)[0]
    assert after["vgpr"][2].tolist() == [2 * lane + 1 for lane in range(LANES)]
    assert after["vgpr"][3].tolist() == [2 * lane + 4 for lane in range(LANES)]


# ---- the edges of the workgroup's LDS ----

SMALL = 256  # bytes of LDS: addresses lie around its end, around 0, and far away


def edge_cases(known) -> list[tuple[str, str]]:
    """(name, line) of every access to the LDS, with offsets."""
    lines = [(name, line) for name, line, _, _ in simple_cases(known)]
    for name in known:
        if atomic_of(name) in UPDATES and not name.endswith(("f16", "f32", "f64")):
            lines.append((name, atomic_line(name)))
    return lines


def test_addresses_wrap_and_reads_outside_give_zero(assembler, probe, known, random):
    cases = edge_cases(known)
    assert len({name for name, _ in cases}) >= 60
    code = assembler.assemble([line for _, line in cases])
    batch = Batch(code, len(cases), vgprs=VGPRS, lds=SMALL)
    batch.input["entry"] = code.entry
    batch.input["lds"] = random.integers(0, 256, batch.input["lds"].shape)
    batch.input["vgpr"] = random.integers(0, 2**32, batch.input["vgpr"].shape)
    set_scalar64(batch.input, EXEC, random.integers(0, ALL_LANES, len(cases), np.uint64, endpoint=True))
    edges = np.array([0, SMALL, 0xF00000, 0x80000000], np.int64)
    for (_, line), state in zip(cases, batch.input, strict=True):
        near = random.choice(edges, LANES) + random.integers(-6, 6, LANES) * 8
        first = min(int(n) for n in re.findall(r"offset[01]?:(\d+)", line))
        state["vgpr"][ADDRESS] = ((near - random.choice([0, first, first * 4 // 4], LANES)) % 2**32).astype(np.uint32)
    for (name, line), before, after in zip(cases, batch.input, batch.run(probe), strict=True):
        size = int(re.search(r"(\d+)(_d16)?(_hi)?$", name).group(1)) // 8
        assert not after["faulted"], (line, after["fault"])
        memory, vgpr = edge_expected(name, line, before, size)
        assert after["lds"].tobytes() == memory, line
        assert np.array_equal(after["vgpr"], vgpr), line


@pytest.mark.parametrize("line", ["ds_read_b64 v[4:5], v2", "ds_write_b32 v2, v4 offset:4", "ds_add_u32 v2, v4"])
def test_lds_check_makes_an_access_out_of_range_a_fault(assembler, probe, line):
    batch = Batch(assembler.assemble([line]), 1, vgprs=8, lds=256)
    batch.input["vgpr"][0, 2, 7] = 256
    assert not batch.run(probe)["faulted"][0]
    after = batch.run(probe, "run-lds-check")[0]
    assert after["faulted"] and "LDS access out of range" in after["fault"].decode()
    batch.input["vgpr"][0, 2, 7] = 0
    assert not batch.run(probe, "run-lds-check")["faulted"][0]


# ---- atomics ----


def atomic_line(name: str) -> str:
    count = word_count(name)
    operands = [f"v{ADDRESS}", registers("v", DATA, 32 * count)]
    operands += [registers("v", DATA2, 32 * count)] if "cmpst" in name else []
    operands = [registers("v", RESULT, 32 * count), *operands] if "_rtn_" in name else operands
    return f"{name} {', '.join(operands)} offset:8"


def test_atomics(assembler, probe, known, random):
    names = [name for name in known if atomic_of(name) in UPDATES or "cmpst" in name and name.endswith(("b32", "b64"))]
    assert len(names) >= 60
    lines = [atomic_line(name) for name in names]
    code = assembler.assemble(lines)
    batch = prepare(random, code, len(names))
    batch.input["entry"] = code.entry
    batch.input["vgpr"][:, ADDRESS] = random.integers(0, 24, (len(names), LANES)) * 8  # lanes share addresses
    for name, state in zip(names, batch.input, strict=True):
        if name.endswith(("f16", "f32", "f64")):
            kind = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[name[-3:]] if "bf16" not in name else np.float32
            state["lds"] = random.standard_normal(LDS // kind().itemsize).astype(kind).view("u1")
            numbers = random.standard_normal((LANES, 8 // kind().itemsize)).astype(kind)
            state["vgpr"][DATA : DATA + 2] = numbers.view("<u4").reshape(LANES, 2).T
        elif "cmpst" in name:
            at = state["vgpr"][ADDRESS] + 8
            words = state["lds"].view("<u4")
            state["vgpr"][DATA], state["vgpr"][DATA + 1] = words[at // 4], words[at // 4 + 1]
    for name, line, before, after in zip(names, lines, batch.input, batch.run(probe), strict=True):
        assert not after["faulted"], (line, after["fault"])
        count = word_count(name)
        memory, vgpr = bytearray(before["lds"].tobytes()), before["vgpr"].copy()
        for lane in np.flatnonzero(lanes_of(int(before["sgpr"][EXEC]) | int(before["sgpr"][EXEC + 1]) << 32)):
            at = int(before["vgpr"][ADDRESS, lane]) + 8
            old = int.from_bytes(memory[at : at + 4 * count], "little")
            data = lanes_words(before, DATA, count, lane)
            if "cmpst" in name:
                new = lanes_words(before, DATA2, count, lane) if old == data else old
            else:
                new = UPDATES[atomic_of(name)](old, data, 32 * count)
            memory[at : at + 4 * count] = new.to_bytes(4 * count, "little")
            if "_rtn_" in name:
                for i in range(count):
                    vgpr[RESULT + i, lane] = old >> (32 * i) & 0xFFFFFFFF
        assert after["lds"].tobytes() == bytes(memory), line
        assert np.array_equal(after["vgpr"], vgpr), line


@pytest.mark.parametrize(("name", "sign"), [("ds_append", 1), ("ds_consume", -1)])
def test_a_counter_of_lanes(assembler, probe, random, name, sign):
    """M0's lower half is the base; every enabled lane gets the counter's old value."""
    batch = prepare(random, assembler.assemble([f"{name} v{RESULT} offset:12"]), 4)
    batch.input["sgpr"][:, M0] = 0xABCD0000 | 40
    for before, after in zip(batch.input, batch.run(probe), strict=True):
        mask = int(scalar64(before, EXEC))
        words, vgpr = before["lds"].view("<u4").copy(), before["vgpr"].copy()
        vgpr[RESULT, lanes_of(mask)] = words[52 // 4]
        words[52 // 4] = int(words[52 // 4]) + sign * mask.bit_count() & 0xFFFFFFFF
        assert np.array_equal(after["lds"].view("<u4"), words) and np.array_equal(after["vgpr"], vgpr)


def test_a_counter_of_no_lanes(assembler, probe, random):
    batch = prepare(random, assembler.assemble(["ds_append v12"]), 1)
    set_scalar64(batch.input, EXEC, 0)
    after = batch.run(probe)[0]
    assert np.array_equal(after["lds"], batch.input["lds"][0]) and np.array_equal(after["vgpr"], batch.input["vgpr"][0])


def test_two_exchanges_with_one_outside_the_lds(assembler, probe):
    """The element outside reads as 0 and is not written; the other exchange takes place."""
    code = assembler.assemble(["ds_wrxchg2_rtn_b32 v[12:13], v2, v4, v8 offset0:0 offset1:1"])
    batch = Batch(code, 1, vgprs=VGPRS, lds=SMALL)
    batch.input["lds"] = 7
    batch.input["vgpr"][0, ADDRESS] = np.arange(LANES) * 4
    batch.input["vgpr"][0, DATA], batch.input["vgpr"][0, DATA2] = 1, 2
    batch.input["vgpr"][0, RESULT + 1] = 9
    set_scalar64(batch.input, EXEC, 1 << 63)
    after = batch.run(probe)[0]
    assert after["vgpr"][RESULT, 63] == 0x07070707 and after["vgpr"][RESULT + 1, 63] == 0
    assert after["lds"].view("<u4").tolist() == [0x07070707] * 63 + [1]


@pytest.mark.parametrize(
    "line", ["ds_wrxchg2_rtn_b64 v[12:15], v2, v[4:5], v[8:9]", "ds_mskor_b32 v2, v4, v8", "ds_append v12"]
)
def test_misaligned_atomics_are_a_fault(assembler, probe, line):
    batch = Batch(assembler.assemble([line]), 1, vgprs=VGPRS, lds=SMALL)
    batch.input["vgpr"][0, ADDRESS] = batch.input["sgpr"][0, M0] = 2
    after = batch.run(probe)[0]
    assert after["faulted"] and "misaligned" in after["fault"].decode()


# ---- cross-lane ----


def run_cross_lane(assembler, probe, random, line: str):
    batch = prepare(random, assembler.assemble([line]), 8)
    batch.input["vgpr"][:4, ADDRESS] = random.integers(0, LANES, (4, LANES)) * 4
    return [
        (before, after, lanes_of(int(before["sgpr"][EXEC]) | int(before["sgpr"][EXEC + 1]) << 32))
        for before, after in zip(batch.input, batch.run(probe), strict=True)
    ]


@pytest.mark.parametrize("offset", [0, 12])
def test_backward_permute(assembler, probe, random, offset):
    for before, after, enabled in run_cross_lane(assembler, probe, random, f"ds_bpermute_b32 v12, v2, v4 offset:{offset}"):
        source = (before["vgpr"][ADDRESS] + np.uint32(offset)) // 4 % LANES
        moved = np.where(enabled[source], before["vgpr"][DATA][source], 0)  # disabled lanes give 0
        assert np.array_equal(after["vgpr"][RESULT], np.where(enabled, moved, before["vgpr"][RESULT]))


def test_forward_permute(assembler, probe, random):
    for before, after, enabled in run_cross_lane(assembler, probe, random, "ds_permute_b32 v12, v2, v4"):
        moved = np.zeros(LANES, np.uint32)
        for lane in np.flatnonzero(enabled):  # the highest lane wins
            moved[before["vgpr"][ADDRESS, lane] // 4 % LANES] = before["vgpr"][DATA, lane]
        assert np.array_equal(after["vgpr"][RESULT], np.where(enabled, moved, before["vgpr"][RESULT]))


FFT_LISTS = {
    0x00: "1,11,9,19,5,15,d,1d,3,13,b,1b,7,17,f,1f,2,12,a,1a,6,16,e,1e,4,14,c,1c,8,18,10,20",
    0x10: "1,9,5,d,3,b,7,f,2,a,6,e,4,c,8,10,11,19,15,1d,13,1b,17,1f,12,1a,16,1e,14,1c,18,20",
}


@pytest.mark.parametrize("mask", FFT_LISTS)
def test_the_fft_order_matches_the_isa_document(mask):
    assert [reversed_bits(mask)(lane) + 1 for lane in range(32)] == [int(n, 16) for n in FFT_LISTS[mask].split(",")]


@pytest.mark.parametrize("control", SWIZZLES)
def test_swizzle(assembler, probe, random, control):
    source = np.array([SWIZZLES[control](lane) for lane in range(LANES)])
    for before, after, enabled in run_cross_lane(assembler, probe, random, f"ds_swizzle_b32 v12, v4 offset:{control}"):
        moved = np.where(enabled[source], before["vgpr"][DATA][source], 0)
        assert np.array_equal(after["vgpr"][RESULT], np.where(enabled, moved, before["vgpr"][RESULT]))
