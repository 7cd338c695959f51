"""Scalar stores and atomics, against the reference for vector atomics."""

from __future__ import annotations

from wave import MEMORY_ADDRESS, Batch

import numpy as np
import pytest
from atomic_reference import UPDATES

MEMORY, DATA, BASE = 0x2000, 16, 0x800
BUFFER_BYTES = 0x30
OFFSETS = {"0x10": 0x10, "s9": 0x24, "s9 offset:0x8": 0x2C, "0x28": 0x28}
POINTERS = ("s_", "s[4:5]"), ("s_buffer_", "s[4:7]")


def one(assembler, random, line: str) -> tuple[Batch, np.void]:
    batch = Batch(assembler.assemble([line]), 1, memory=MEMORY)
    state = batch.input[0]
    state["memory"] = random.integers(0, 256, MEMORY)
    state["sgpr"][DATA : DATA + 4] = random.integers(0, 2**32, 4)
    base = MEMORY_ADDRESS + BASE
    state["sgpr"][4:8] = [base & 0xFFFFFFFF, base >> 32, BUFFER_BYTES, 0]  # a pointer, and a buffer
    state["sgpr"][9] = 0x24
    return batch, state


def registers(count: int) -> str:
    return f"s{DATA}" if count == 1 else f"s[{DATA}:{DATA + count - 1}]"


@pytest.mark.parametrize(("prefix", "base"), POINTERS)
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("offset", OFFSETS)
def test_stores(assembler, probe, random, prefix: str, base: str, count: int, offset: str) -> None:
    """Dwords beyond a buffer are dropped individually."""
    name = f"{prefix}store_dword{'' if count == 1 else f'x{count}'}"
    batch, state = one(assembler, random, f"{name} {registers(count)}, {base}, {offset}")
    memory = state["memory"].copy().view("<u4")
    for i in range(count):
        at = OFFSETS[offset] + 4 * i
        if prefix == "s_" or at < BUFFER_BYTES:
            memory[(BASE + at) // 4] = state["sgpr"][DATA + i]
    after = batch.run(probe)[0]
    assert not after["faulted"], after["fault"]
    np.testing.assert_array_equal(after["memory"].view("<u4"), memory)


ATOMICS = ("add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "swap", "inc", "dec")


@pytest.mark.parametrize(("prefix", "base"), POINTERS)
@pytest.mark.parametrize("returns", [False, True])
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("operation", [*ATOMICS, "cmpswap"])
def test_atomics(assembler, probe, random, prefix: str, base: str, returns: bool, bits: int, operation: str) -> None:
    count = bits // 32 * (2 if operation == "cmpswap" else 1)
    line = (
        f"{prefix}atomic_{operation}{'_x2' if bits == 64 else ''} {registers(count)}, {base}, 0x10{' glc' if returns else ''}"
    )
    for succeeds in (False, True):
        batch, state = one(assembler, random, line)
        place = slice(BASE + 0x10, BASE + 0x10 + bits // 8)
        data = [int.from_bytes(state["sgpr"][DATA + i : DATA + i + bits // 32].tobytes(), "little") for i in (0, bits // 32)]
        if operation == "cmpswap" and succeeds:
            state["memory"][place] = np.frombuffer(data[1].to_bytes(bits // 8, "little"), np.uint8)
        old = int.from_bytes(state["memory"][place].tobytes(), "little")
        new = (data[0] if old == data[1] else old) if operation == "cmpswap" else UPDATES[operation](old, data[0], bits)
        after = batch.run(probe)[0]
        assert not after["faulted"], after["fault"]
        assert int.from_bytes(after["memory"][place].tobytes(), "little") == new
        sgpr = state["sgpr"].copy()
        if returns:
            sgpr[DATA : DATA + bits // 32] = np.frombuffer(old.to_bytes(bits // 8, "little"), "<u4")
        np.testing.assert_array_equal(after["sgpr"], sgpr)


def test_an_atomic_beyond_a_buffer_gives_zero(assembler, probe, random) -> None:
    batch, state = one(assembler, random, f"s_buffer_atomic_add s{DATA}, s[4:7], 0x30 glc")
    after = batch.run(probe)[0]
    assert int(after["sgpr"][DATA]) == 0
    np.testing.assert_array_equal(after["memory"], state["memory"])
