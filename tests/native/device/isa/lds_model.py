"""The effect of a DS instruction on the LDS and on registers, byte by byte."""

from __future__ import annotations

import re
from wave import EXEC, lanes_of

import numpy as np
from atomic_reference import UPDATES

# Registers of the tests' lines.
ADDRESS, DATA, DATA2, RESULT, VGPRS = 2, 4, 8, 12, 16
OPERATIONS = {
    "min_i": "smin",
    "max_i": "smax",
    "min_u": "umin",
    "max_u": "umax",
    "min_f": "min_f",
    "max_f": "max_f",
    "add_f": "add_f",
}
CROSS_LANE = ("ds_bpermute_b32", "ds_permute_b32", "ds_swizzle_b32", "ds_nop")


def word_count(name: str) -> int:
    return max(1, int(re.search(r"(\d+)$", name).group(1)) // 32)


def lanes_words(state, register: int, count: int, lane: int) -> int:
    return sum(int(state["vgpr"][register + i, lane]) << (32 * i) for i in range(count))


def read_expected(name: str, at: list[int], size: int, memory: bytes) -> dict[int, int]:
    if size >= 4:
        words = [int.from_bytes(memory[a + i : a + i + 4], "little") for a in at for i in range(0, size, 4)]
        return {RESULT + i: word for i, word in enumerate(words)}
    value = int.from_bytes(memory[at[0] : at[0] + size], "little", signed="_i" in name)
    # With ECC on the registers, a load of one half does not keep the other.
    if name.endswith("_d16_hi"):
        return {RESULT: (value & 0xFFFF) << 16}
    return {RESULT: value & (0xFFFF if name.endswith("_d16") else 0xFFFFFFFF)}


def atomic_of(name: str) -> str | None:
    """The instruction's name in UPDATES, or None if it has none."""
    match = re.fullmatch(r"ds_(pk_add|[a-z]+)(?:_rtn)?_(f16|bf16|[buif]\d+)", name)
    if not match or name in CROSS_LANE:
        return None
    operation, kind = match.groups()
    if operation == "pk_add":
        return f"pk_add_{kind}"
    if operation == "wrxchg":
        return "swap"
    return OPERATIONS.get(f"{operation}_{kind[0]}", operation)


def dword_model(memory: bytearray, at: int, size: int) -> list[int]:
    """The dwords (or narrower units) of an access that are inside the LDS, as offsets from `at`."""
    unit = min(size, 4)
    return [i for i in range(0, size, unit) if at + i + unit <= len(memory)]


def read_inside(memory: bytearray, at: int, size: int) -> bytes:
    out = bytearray(size)
    for i in dword_model(memory, at, size):
        out[i : i + min(size, 4)] = memory[at + i : at + i + min(size, 4)]
    return bytes(out)


def offsets_of(line: str, size: int) -> list[int]:
    plain = re.search(r"offset:(\d+)", line)
    if plain:
        return [int(plain.group(1))]
    stride = size * (64 if "2st64" in line else 1)
    return [int(n) * stride for n in re.findall(r"offset[01]:(\d+)", line)]


def edge_expected(name: str, line: str, before, size: int):
    """LDS and registers afterwards: addresses are modulo 2**32; dwords outside read as 0 and are not written."""
    memory, vgpr = bytearray(before["lds"].tobytes()), before["vgpr"].copy()
    lanes = np.flatnonzero(lanes_of(int(before["sgpr"][EXEC]) | int(before["sgpr"][EXEC + 1]) << 32))
    offsets = offsets_of(line, size)
    for part, offset in enumerate(offsets):
        for lane in lanes.tolist():
            at = (int(before["vgpr"][ADDRESS, lane]) + offset) & 0xFFFFFFFF
            if "_read" in name:
                found = read_inside(memory, at, size)
                if size >= 4:
                    vgpr[RESULT + part * size // 4 : RESULT + (part + 1) * size // 4, lane] = np.frombuffer(found, "<u4")
                else:
                    vgpr[RESULT, lane] = read_expected(name, [0], size, found)[RESULT]
            elif "_write" in name:
                data = lanes_words(before, (DATA, DATA2)[part], max(1, size // 4), lane) >> (16 if name.endswith("_hi") else 0)
                new = (data & (1 << 8 * size) - 1).to_bytes(size, "little")
                for i in dword_model(memory, at, size):
                    memory[at + i : at + i + min(size, 4)] = new[i : i + min(size, 4)]
            else:
                inside = at + size <= len(memory)
                old = int.from_bytes(memory[at : at + size], "little") if inside else 0
                if inside:
                    new = UPDATES[atomic_of(name)](old, lanes_words(before, DATA, size // 4, lane), 8 * size)
                    memory[at : at + size] = new.to_bytes(size, "little")
                if "_rtn_" in name:
                    vgpr[RESULT : RESULT + size // 4, lane] = [old & 0xFFFFFFFF, old >> 32][: size // 4]
    return bytes(memory), vgpr
