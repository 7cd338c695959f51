"""The parts of a program's memory, and how two runs of the program differ in them, without a code object."""

from __future__ import annotations

import struct

import pytest

from rocm_perf_lab.gate.equivalence import program_memory
from rocm_perf_lab.gate.equivalence.program_memory import (
    MemoryPart,
    ProgramMemory,
    differing_extent,
    newly_written_extent,
    unmatched_part,
)

A, B, CODE = 0x1000, 0x2000, 0x8000


@pytest.fixture(autouse=True)
def _no_code_object(monkeypatch):
    monkeypatch.setattr(program_memory, "_symbols", lambda _capture: ())


def words(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}Q", *numbers)


def test_allocations_are_known_by_kind_size_and_turn(in_memory):
    capture = in_memory(
        {A: bytes(64), B: bytes(64), 0x4000: bytes(64)},
        allocations={A: [(A, 16), (A + 16, 0), (A + 32, 16), (A + 48, 8)], B: [(B, 16)]},
        kinds={B: "host"},
        argument_allocations=[f"{B:#x}"],
    )
    parts = ProgramMemory.of(capture).parts
    assert parts == {
        ("device", 16, 1): MemoryPart("16 bytes of device memory at 0x1000", A, 16),
        ("device", 16, 2): MemoryPart("16 bytes of device memory at 0x1020", A + 32, 16),
        ("device", 8, 1): MemoryPart("8 bytes of device memory at 0x1030", A + 48, 8),
        ("host", 16, 1): MemoryPart("16 bytes of host memory at 0x2000", B, 16, is_pool=True),
        ("device", 64, 1): MemoryPart("64 bytes of device memory at 0x4000", 0x4000, 64),
    }


def test_other_code_objects_are_places_and_compared_as_a_whole_without_a_header(in_memory):
    capture = in_memory({A: bytes(16), CODE: bytes(128)}, kinds={CODE: "code"}, code_object={"load_base": "0x0"})
    memory = ProgramMemory.of(capture)
    code = MemoryPart("the code object at 0x8000", CODE, 128)
    assert memory.parts["code", 0, 128] == memory.pointees["code", 0] == code
    own = in_memory({CODE: bytes(128)}, kinds={CODE: "code"}, code_object={"load_base": hex(CODE)})
    assert not ProgramMemory.of(own).parts and not ProgramMemory.of(own).pointees


def memory(in_memory, before: dict[int, bytes], left: dict[int, bytes] | None = None) -> ProgramMemory:
    return ProgramMemory.of(in_memory(before, left))


def test_what_differs_is_counted_from_its_first_byte(in_memory):
    one = memory(in_memory, {A: words(1, 2, 3) + b"abc"})
    other = memory(in_memory, {A: words(1, 0x10002, 3) + b"aXY"})
    key = ("device", 27, 1)
    assert differing_extent(one, other, key, False) == (A + 8 + 2, 3) and differing_extent(one, one, key, True) is None


def test_pointers_to_the_same_place_of_what_moved_are_the_same(in_memory):
    one = memory(in_memory, {A: words(A + 8, B + 4, 5), B: bytes(32)})
    moved = memory(in_memory, {A + 0x100: words(A + 0x108, B + 0x104, 5), B + 0x100: bytes(32)})
    key = ("device", 24, 1)
    assert differing_extent(one, moved, key, False) is None
    elsewhere = memory(in_memory, {A + 0x100: words(A + 0x108, B + 0x105, 5), B + 0x100: bytes(32)})
    assert differing_extent(one, elsewhere, key, False)[0] // 8 == (A + 0x108) // 8
    beyond = memory(in_memory, {A + 0x100: words(A + 0x108, B + 0x120, 5), B + 0x100: bytes(32)})
    assert differing_extent(one, beyond, key, False) is not None


def test_what_only_one_dispatch_writes(in_memory):
    before, key = {A: words(1, 2, 3)}, ("device", 24, 1)
    one = memory(in_memory, before, {A: words(1, 7, 3)})
    assert newly_written_extent(one, memory(in_memory, before, {A: words(1, 9, 3)}), key) is None
    assert newly_written_extent(one, memory(in_memory, before, {A: words(1, 9, 0x203)}), key) == (A + 16 + 1, 1)
    assert newly_written_extent(one, memory(in_memory, before), key) is None


def test_a_part_that_only_one_run_has_is_named(in_memory):
    one, other = memory(in_memory, {A: bytes(16)}), memory(in_memory, {A: bytes(16), B: bytes(8)})
    assert unmatched_part(one, one) is None
    assert unmatched_part(one, other) == unmatched_part(other, one) == "8 bytes of device memory at 0x2000"
