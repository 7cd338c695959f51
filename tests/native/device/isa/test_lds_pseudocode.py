"""LDS atomics with two operands, and accesses addressed by lane number, against AMD's pseudo-code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from wave import ALL_LANES, EXEC, LANES, M0, Batch, lanes_of, scalar64, set_scalar64

import numpy as np
import pytest
from assembly_forms import registers
from lds_model import ADDRESS, DATA, DATA2, RESULT, VGPRS, lanes_words
from pseudocode_storage import Bits, Place
from pseudocode_values import Value

LDS = 4096
STATES = 4
ALL = 0xFFFFFFFF
FIRST, SECOND = 2, 3  # offsets: in elements (or units of 64) for a paired access, otherwise FIRST elements
NAMES = [f"ds_{operation}{form}_{kind}" for operation, kinds in
         (("cmpst", ("b32", "b64", "f32", "f64")), ("mskor", ("b32", "b64"))) for form in ("", "_rtn") for kind in kinds] + [
         f"ds_wrxchg2{stride}_rtn_{kind}" for stride in ("", "st64") for kind in ("b32", "b64")] + [
         "ds_wrap_rtn_b32", "ds_condxchg32_rtn_b64", "ds_read_addtid_b32", "ds_write_addtid_b32"]  # fmt: skip


@dataclass
class Memory:
    """The LDS in the form that the pseudo-code uses: MEM[address] is the place that begins there, LDS[address] a dword."""

    storage: Bits
    bits: int  # bits of an element; 0: as many as its type says

    def __getitem__(self, address: int) -> Place:
        return Place(self.storage, 8 * address, self.bits, "B")


def element_bytes(name: str) -> int:
    return int(name[-2:]) // 8


def is_paired(name: str) -> bool:
    return "wrxchg2" in name


def by_lane(name: str) -> bool:
    return "addtid" in name


def result_registers(name: str) -> int:
    return ("_rtn_" in name or "read" in name) * element_bytes(name) // 4 * (2 if is_paired(name) else 1)


def line_of(name: str) -> str:
    bits = 8 * element_bytes(name)
    operands = [registers("v", RESULT, 32 * result_registers(name))] if result_registers(name) else []
    operands += [] if by_lane(name) else [f"v{ADDRESS}"]
    operands += [] if "read" in name else [registers("v", DATA, bits)]
    operands += [] if by_lane(name) or "condxchg" in name else [registers("v", DATA2, bits)]
    offsets = f"offset0:{FIRST} offset1:{SECOND}" if is_paired(name) else f"offset:{FIRST * element_bytes(name)}"
    return f"{name} {', '.join(operands)} {offsets}"


def randomise(random: np.random.Generator, name: str, state: np.void) -> None:
    """Few addresses, so that lanes share them; about half of the data equals memory, and there are floats of every kind."""
    special = np.array([0, 0x80000000, 1, 0x3F800000, 0x7FC00000, 0x7FF00000, 0xFFFFFFFF, 5], np.uint32)
    words = random.choice(special, LDS // 4)
    state["lds"] = words.view("u1")
    size = element_bytes(name)
    state["vgpr"] = random.choice(special, state["vgpr"].shape)
    state["vgpr"][ADDRESS] = random.integers(0, 24, LANES) * size
    at = (state["vgpr"][ADDRESS] + FIRST * size) // 4
    same = random.random(LANES) < 0.5
    for i in range(size // 4):
        state["vgpr"][DATA + i][same] = words[at + i][same]
    state["sgpr"][M0] = random.integers(0, 2**16) << 16 | random.integers(0, 64) * 4


def words_of(returned: Bits | list[Bits]) -> list[int]:
    """The memory as dwords: some programs declare an array of these."""
    return [word.bits for word in returned] if isinstance(returned, list) else [returned.bits >> 32 * i & ALL for i in range(4)]


def expected(library, name: str, before: np.void) -> tuple[bytes, np.ndarray]:
    memory, vgpr = Bits(int.from_bytes(before["lds"].tobytes(), "little"), "B", 8 * LDS), before["vgpr"].copy()
    size = element_bytes(name)

    def call(function: str, arguments: list[Value]) -> Value:
        assert function == "CalcDsAddr"
        address, low, high = arguments
        return Value("U", 32, address.value + low.value + (high.value << 8) & ALL)

    offsets = (FIRST, SECOND) if is_paired(name) else (FIRST * size, 0)
    forgotten = 0 if "OFFSET" in library.definitions[name] else FIRST * size  # ds_wrap does have an offset, like all others
    for lane in np.flatnonzero(lanes_of(int(scalar64(before, EXEC)))).tolist():
        address = Bits(int(before["vgpr"][ADDRESS, lane]) + forgotten, "U", 32)
        data, data2 = (Bits(lanes_words(before, first, size // 4, lane), "B", 8 * size) for first in (DATA, DATA2))
        state = {
            "MEM": Memory(memory, 0),
            "LDS": Memory(memory, 32),
            "ADDR": address,
            "ADDR_BASE": address,
            "S0": address,
            "DATA": data,
            "DATA0": data,
            "S1": data,
            "DATA2": data2,
            "OFFSET0": Bits(offsets[0], "U", 8),
            "OFFSET1": Bits(offsets[1], "U", 8),
            "M0": Bits(int(before["sgpr"][M0]), "U", 32),
            "laneID": Bits(lane, "U", 32),
            "RETURN_DATA": Bits(),
        }
        library.program(name).run(state, call)
        words = words_of(state["RETURN_DATA"])
        vgpr[RESULT : RESULT + result_registers(name), lane] = words[: result_registers(name)]
    return memory.bits.to_bytes(LDS, "little"), vgpr


@pytest.mark.parametrize("name", NAMES)
def test_against_the_pseudocode(assembler, probe, library, known, random, name):
    assert name in known
    batch = Batch(assembler.assemble([line_of(name)]), STATES, vgprs=VGPRS, lds=LDS)
    for state in batch.input:
        randomise(random, name, state)
    set_scalar64(batch.input, EXEC, random.integers(0, ALL_LANES, STATES, np.uint64, endpoint=True))
    changed = False
    for before, after in zip(batch.input, batch.run(probe), strict=True):
        assert not after["faulted"], after["fault"]
        memory, vgpr = expected(library, name, before)
        assert after["lds"].tobytes() == memory
        assert np.array_equal(after["vgpr"], vgpr)
        changed |= not np.array_equal(before["vgpr"], vgpr) or before["lds"].tobytes() != memory
    assert changed


def test_every_operation_of_the_document_is_tested(library, known):
    """Except those of the global data share, which no compiler uses."""
    lacking = {name for name in library.definitions if name.startswith("ds_") and name not in known}
    assert not {name for name in lacking if not re.match("ds_(gws|ordered)_", name)}
