"""MUBUF accesses through a resource descriptor, and loads into the LDS, against a byte-by-byte model."""

from __future__ import annotations

from dataclasses import dataclass
from wave import ALL_LANES, EXEC, LANES, M0, MEMORY_ADDRESS, Batch, lanes_of, set_scalar64

import numpy as np
import pytest
from assembly_forms import registers
from test_memory import OF_GFX10, Access, access_of, atomic, load, store

MEMORY, LDS = 0x2000, 4096
DATA, VGPRS = 12, 24
BASE = 0x800  # of the buffer, in memory; the buffer crosses 4 GiB


@dataclass(frozen=True)
class Buffer:
    """`records` and `stride` are the descriptor's; soffset is in s8."""

    stride: int
    records: int
    scalar_offset: int


@dataclass(frozen=True)
class Case:
    access: Access
    form: str  # what follows the operands: offen, idxen, both or nothing
    offset: int
    returns: bool
    buffer: Buffer

    @property
    def text(self) -> str:
        words = max(1, self.access.size // 4) * (2 if self.access.operation == "cmpswap" else 1)
        address = {"": "off", "offen": "v2", "idxen": "v2", "idxen offen": "v[2:3]"}[self.form]
        modifiers = f"{self.form}{f' offset:{self.offset}' if self.offset else ''}{' sc0' if self.returns else ''}"
        return f"{self.access.name} {registers('v', DATA, 32 * words)}, {address}, s[4:7], s8 {modifiers}"

    @property
    def unit(self) -> int:
        """Size of the unit that is in range as a whole or not at all, in bytes."""
        return self.access.size if self.access.kind == "atomic" else min(4, self.access.size)


RAW = Buffer(0, 0x1000, 0)
BUFFERS = [RAW, Buffer(0, 0x1000, 0x40), Buffer(32, 0x60, 0), Buffer(0, 0x10, 0x40)]


def cases_of(name: str) -> list[Case]:
    access = access_of(name.replace("buffer_", "global_"))
    access = Access(name, "buffer", access.kind, access.size, access.signed, access.half, access.operation)
    return [
        Case(access, form, offset, returns, buffer)
        for form in ("", "offen", "idxen", "idxen offen")
        for offset in (0, 24)
        for returns in ((False, True) if access.kind == "atomic" else (False,))
        for buffer in BUFFERS
    ]


def place(random: np.random.Generator, case: Case, state: np.void) -> tuple[np.ndarray, np.ndarray]:
    """Puts descriptor and addresses into the registers. Returns (offset in memory, bytes in range) for each lane."""
    buffer, align = case.buffer, max(case.access.size if case.access.kind == "atomic" else min(4, case.access.size), 1)
    base = MEMORY_ADDRESS + BASE
    state["sgpr"][4:9] = [base & 0xFFFFFFFF, base >> 32 | buffer.stride << 16, buffer.records, 0x00027000, buffer.scalar_offset]
    index = random.integers(0, 0x70, LANES)
    offset = random.integers(0, 40 // align, LANES) * align
    if "idxen" not in case.form:
        offset = random.integers(0, 0x1100 // align, LANES) * align
    offset[random.random(LANES) < 0.1] = 0x80000000  # how kernels mask a lane off
    state["vgpr"][2] = index if "idxen" in case.form else offset
    state["vgpr"][3] = offset
    in_element = case.offset + (offset if "offen" in case.form else 0)
    byte = in_element + (index * buffer.stride if "idxen" in case.form else 0)
    if "idxen" in case.form and buffer.stride:
        available = np.where(index < buffer.records, buffer.stride - in_element, 0)
    else:
        available = buffer.records - buffer.scalar_offset - byte
    where = BASE + buffer.scalar_offset + np.broadcast_to(byte, LANES)
    return where, np.broadcast_to(np.clip(available // case.unit * case.unit, 0, case.access.size), LANES)


def expected(case: Case, before: np.void, where: np.ndarray, available: np.ndarray) -> tuple[bytes, np.ndarray]:
    memory, vgpr = bytearray(before["memory"].tobytes()), before["vgpr"].copy()
    enabled = lanes_of(int(before["sgpr"][EXEC]) | int(before["sgpr"][EXEC + 1]) << 32)
    access = case.access
    for lane in np.flatnonzero(enabled):
        at, count = int(where[lane]), int(available[lane])
        data = [int(word) for word in before["vgpr"][DATA:, lane]]
        # The access runs on a copy; only the part that is in range is copied in and out.
        window = bytearray(memory[at : at + count] if count else b"").ljust(access.size, b"\0")
        if access.kind == "load":
            words = load(access, window, 0)
            vgpr[DATA : DATA + len(words), lane] = words
            continue
        words = max(1, access.size // 4) * (2 if access.operation == "cmpswap" else 1)
        if access.kind == "store":
            store(access, window, 0, data[:words])
        elif count:
            old = atomic(access, window, 0, data[:words])
        else:
            old = [0] * (access.size // 4)
        memory[at : at + count] = window[:count]
        if case.returns:
            vgpr[DATA : DATA + len(old), lane] = old
    return bytes(memory), vgpr


def ordinary_floats(random: np.random.Generator, case: Case, state: np.void) -> None:
    operation, size = case.access.operation, case.access.size
    if not operation.endswith(("_f", "f16")):
        return
    kind = np.float16 if operation.endswith("f16") else np.float64 if size == 8 else np.float32
    state["memory"] = random.standard_normal(MEMORY // kind().itemsize).astype(kind).view("u1")
    numbers = random.standard_normal((LANES, 8 // kind().itemsize)).astype(kind)
    state["vgpr"][DATA : DATA + 2] = numbers.view("<u4").reshape(LANES, 2).T


OF_GFX950 = "buffer_atomic_pk_add_bf16"  # with the arithmetic of global_atomic_pk_add_bf16


def test_buffer_accesses(assembler, probe, known, random) -> None:
    names = [name for name in known if name.startswith(("buffer_load", "buffer_store", "buffer_atomic"))]
    names = [name for name in names if "format" not in name and not OF_GFX10.search(name) and name != OF_GFX950]
    assert len(names) >= 50
    cases = [case for name in names for case in cases_of(name)]
    code = assembler.assemble([case.text for case in cases])
    batch = Batch(code, len(cases), vgprs=VGPRS, memory=MEMORY)
    batch.input["entry"] = code.entry
    batch.input["memory"] = random.integers(0, 256, batch.input["memory"].shape)
    batch.input["vgpr"] = random.integers(0, 2**32, batch.input["vgpr"].shape)
    set_scalar64(batch.input, EXEC, random.integers(0, ALL_LANES, len(cases), np.uint64, endpoint=True))
    places = []
    for case, state in zip(cases, batch.input, strict=True):
        ordinary_floats(random, case, state)
        places.append(place(random, case, state))
    failures = []
    for case, where, before, after in zip(cases, places, batch.input, batch.run(probe), strict=True):
        memory, vgpr = expected(case, before, *where)
        if after["faulted"]:
            failures.append(f"{case.text}: {after['fault'].decode()}")
        elif after["memory"].tobytes() != memory or not np.array_equal(after["vgpr"], vgpr):
            failures.append(f"{case.text} {case.buffer}")
    assert not failures, f"{len(failures)} of {len(cases)}:\n" + "\n".join(failures[:20])


def test_lane_numbers_as_indices(assembler, probe, random) -> None:
    """ADD_TID_ENABLE: the lane's number is added to the index, and the stride has 18 bits."""
    code = assembler.assemble(["buffer_load_dword v4, off, s[4:7], 0 offset:4"])
    batch = Batch(code, 1, memory=MEMORY)
    batch.input["memory"] = random.integers(0, 256, MEMORY)
    base = MEMORY_ADDRESS
    batch.input["sgpr"][0, 4:8] = [base & 0xFFFFFFFF, base >> 32 | 16 << 16, 40, 1 << 23]
    after = batch.run(probe)[0]
    assert not after["faulted"], after["fault"]
    words = after["memory"].view("<u4")[1 : 1 + 4 * LANES : 4]
    np.testing.assert_array_equal(after["vgpr"][4], np.where(np.arange(LANES) < 40, words, 0))


@pytest.mark.parametrize("adds_lane", [False, True])
@pytest.mark.parametrize("index_stride", [8, 16, 32, 64])
def test_swizzled_buffers(assembler, probe, random, index_stride: int, adds_lane: bool) -> None:
    """Neighbours' dwords are stored together: the same dword of `index_stride` elements, then the next dword."""
    stride, records = 12, 100
    code = assembler.assemble(["buffer_load_dword v4, v[2:3], s[4:7], s8 idxen offen offset:4"])
    batch = Batch(code, 1, memory=MEMORY)
    state = batch.input[0]
    state["memory"] = random.integers(0, 256, MEMORY)
    encoded = {8: 0, 16: 1, 32: 2, 64: 3}[index_stride]
    word3 = encoded << 21 | (1 << 23 if adds_lane else 0)
    state["sgpr"][4:9] = [MEMORY_ADDRESS & 0xFFFFFFFF, 1 << 31 | stride << 16, records, word3, 0x40]
    index, offset = random.integers(0, 64, LANES), random.integers(0, 12, LANES)
    state["vgpr"][2], state["vgpr"][3] = index, offset
    after = batch.run(probe)[0]
    assert not after["faulted"], after["fault"]
    for lane in range(LANES):
        element, within = int(index[lane]) + lane * adds_lane, int(offset[lane]) + 4
        block, place = divmod(element, index_stride)
        dword, byte = divmod(within, 4)
        at = 0x40 + block * stride * index_stride + dword * 4 * index_stride + place * 4 + byte
        word = int.from_bytes(state["memory"][at : at + 4].tobytes(), "little")
        inside = element < records and within + 4 <= stride
        assert int(after["vgpr"][4, lane]) == (word if inside else 0), lane


SIZES = {"dword": ("<u4", 4), "ubyte": ("<u1", 1), "sbyte": ("<i1", 1), "ushort": ("<u2", 2), "sshort": ("<i2", 2)}


@pytest.mark.parametrize(
    "form", ["buffer_load_{} v2, s[4:7], s8 offen offset:16 lds", "global_load_lds_{} v[2:3], off offset:16"]
)
@pytest.mark.parametrize("unit", SIZES)
def test_loads_into_the_lds(assembler, probe, random, form: str, unit: str) -> None:
    kind, size = SIZES[unit]
    batch = Batch(assembler.assemble([form.format(unit)]), 1, lds=LDS, memory=MEMORY)
    state = batch.input[0]
    for name in ("memory", "lds"):
        state[name] = random.integers(0, 256, state[name].shape)
    enabled = random.integers(1, 2**64, 1, np.uint64)
    set_scalar64(batch.input, EXEC, enabled)
    state["sgpr"][M0] = 0x0005_0120  # only the lower half counts
    records, base = 0x300, MEMORY_ADDRESS + BASE
    state["sgpr"][4:9] = [base & 0xFFFFFFFF, base >> 32, records, 0x00027000, 0]
    offset = random.integers(0, 0x400 // size, LANES) * size
    state["vgpr"][2] = offset
    if form.startswith("global"):
        address = np.uint64(base) + offset.astype(np.uint64)
        state["vgpr"][2], state["vgpr"][3] = address & np.uint64(0xFFFFFFFF), address >> np.uint64(32)
    after = batch.run(probe)[0]
    assert not after["faulted"], after["fault"]
    lds = state["lds"].view("<u4").copy()
    first = (0x120 + 16) // 4
    for lane in np.flatnonzero(lanes_of(int(enabled[0]))):
        at = BASE + int(offset[lane]) + 16
        value = int(np.frombuffer(state["memory"].tobytes(), kind, 1, at)[0])
        if form.startswith("buffer") and offset[lane] + 16 + size > records:
            value = 0
        lds[first + lane] = value & 0xFFFFFFFF
    np.testing.assert_array_equal(after["lds"].view("<u4"), lds)
    np.testing.assert_array_equal(after["vgpr"], state["vgpr"])
