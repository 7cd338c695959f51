"""FLAT, GLOBAL and SCRATCH accesses, and SMEM, against a byte-by-byte model of memory."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from wave import ALL_LANES, EXEC, LANES, MEMORY_ADDRESS, Batch, lanes_of, set_scalar64

import numpy as np
import pytest
from assembly_forms import registers
from atomic_reference import UPDATES
from patterns import patterned

MEMORY = 0x2000  # the first half below 4 GiB, the second above
LDS, SCRATCH = 4096, 512
RESULT, DATA = 20, 12  # registers
VGPRS = 28
SIZES = {
    "byte": 1,
    "ubyte": 1,
    "sbyte": 1,
    "short": 2,
    "ushort": 2,
    "sshort": 2,
    "dword": 4,
    "dwordx2": 8,
    "dwordx3": 12,
    "dwordx4": 16,
}


OF_GFX10 = re.compile(r"_atomic_(fmin|fmax|csub)")


@dataclass(frozen=True)
class Access:
    """A memory instruction, described by its name alone."""

    name: str
    space: str  # flat, global, scratch
    kind: str  # load, store, atomic
    size: int
    signed: bool
    half: str  # "", "low", "high": d16
    operation: str


def access_of(name: str) -> Access:
    space, kind, rest = re.fullmatch(r"(flat|global|scratch)_(load|store|atomic)_(\w+)", name).groups()
    if kind == "atomic":
        operation = rest.removesuffix("_x2").removesuffix("_f32").removesuffix("_f64")
        is_float = rest.endswith(("_f32", "_f64")) or operation in ("fmin", "fmax")
        operation = operation.removeprefix("f") if is_float else operation
        size = 8 if rest.endswith(("_x2", "_f64")) else 4
        return Access(name, space, kind, size, False, "", operation + "_f" if is_float else operation)
    high = rest.endswith("_d16_hi")
    half = "high" if high else "low" if rest.endswith("_d16") else ""
    unit = rest.removesuffix("_d16_hi").removesuffix("_d16")
    return Access(name, space, kind, SIZES[unit], unit.startswith("s") and unit != "short", half, "")


# ---- the model ----


def load(access: Access, memory: bytearray, at: int) -> list[int]:
    raw = memory[at : at + access.size]
    if access.size >= 4:
        return [int.from_bytes(raw[i : i + 4], "little") for i in range(0, access.size, 4)]
    value = int.from_bytes(raw, "little", signed=access.signed)
    if access.half == "low":
        return [value & 0xFFFF]  # with ECC on the registers, the other half is not kept
    if access.half == "high":
        return [(value & 0xFFFF) << 16]
    return [value & 0xFFFFFFFF]


def store(access: Access, memory: bytearray, at: int, data: list[int]) -> None:
    if access.half == "high":
        data = [data[0] >> 16]
    whole = sum(word << (32 * i) for i, word in enumerate(data))
    memory[at : at + access.size] = (whole & ((1 << 8 * access.size) - 1)).to_bytes(access.size, "little")


def atomic(access: Access, memory: bytearray, at: int, data: list[int]) -> list[int]:
    bits = 8 * access.size
    old = int.from_bytes(memory[at : at + access.size], "little")
    words = [
        sum(word << (32 * i) for i, word in enumerate(data[k : k + access.size // 4]))
        for k in range(0, len(data), access.size // 4)
    ]
    if access.operation == "cmpswap":
        new = words[0] if old == words[1] else old
    else:
        new = UPDATES[access.operation](old, words[0], bits)
    memory[at : at + access.size] = new.to_bytes(access.size, "little")
    return [old & 0xFFFFFFFF, old >> 32][: access.size // 4]


# ---- the cases ----


@dataclass(frozen=True)
class Case:
    access: Access
    text: str
    form: str  # vector address, scalar base, ...
    offset: int
    returns: bool
    data_words: int


def cases_of(name: str) -> list[Case]:
    access = access_of(name)
    words = max(1, access.size // 4) * (2 if access.operation == "cmpswap" else 1)
    data = registers("v", DATA, 32 * words)
    result = registers("v", RESULT, 8 * max(4, access.size))
    forms = {"flat": ["vector"], "global": ["vector", "base"], "scratch": ["vector", "base", "both"]}[access.space]
    offsets = [0, 24] if access.space == "flat" else [0, 24, -40]
    cases = []
    for form in forms:
        addresses = (
            {"vector": "v[2:3]", "base": "v2"} if access.space != "scratch" else {"vector": "v2", "base": "off", "both": "v2"}
        )
        base = {
            "flat": "",
            "global": ", off" if form == "vector" else ", s[4:5]",
            "scratch": ", off" if form == "vector" else ", s4",
        }
        for offset in offsets:
            for returns in (False, True) if access.kind == "atomic" else (False,):
                operands = [addresses[form]]
                if access.kind != "load":
                    operands.append(data)
                if access.kind == "load" or returns:
                    operands.insert(0, result)
                tail = (f" offset:{offset}" if offset else "") + (" sc0" if returns else "")
                cases.append(
                    Case(access, f"{name} {', '.join(operands)}{base[access.space]}{tail}", form, offset, returns, words)
                )
    return cases


def place(random: np.random.Generator, case: Case, start: np.void, spaces: str, apertures) -> list[tuple[str, int]]:
    """Chooses addresses and puts them into the registers. Returns (space, offset in it) for each lane."""
    access, size = case.access, case.access.size
    alignment = size if access.kind == "atomic" else 1 if size < 4 else 4
    room = {"global": MEMORY, "lds": LDS, "scratch": SCRATCH}
    slots = {
        s: random.permutation(room[s] // 16 - 8)[:LANES] + 4 if s != "scratch" else random.integers(4, SCRATCH // 16 - 4, LANES)
        for s in room
    }
    shift = random.integers(0, (16 - size) // alignment + 1, LANES) * alignment
    chosen = [spaces if spaces in room else str(random.choice(["global", "lds", "scratch"])) for _ in range(LANES)]
    where = [(s, int(slots[s][lane] * 16 + shift[lane])) for lane, s in enumerate(chosen)]
    if spaces == "patterned":
        where = [("global", 64 + at) for at in patterned(random, size, alignment)]
        if random.integers(4):
            start["sgpr"][EXEC : EXEC + 2] = 0xFFFFFFFF
    elif access.kind == "atomic" and spaces != "scratch":  # some lanes share addresses
        where = [where[lane // 3] for lane in range(LANES)]
    if access.space == "scratch":
        place_scratch(random, case, start, where)
        return [where[0]] * LANES if case.form == "base" else where
    first = {"global": MEMORY_ADDRESS, "lds": apertures.shared, "scratch": apertures.private}
    base = 0
    if case.form == "base":
        base = int(MEMORY_ADDRESS - int(random.choice([0, 16, 0xF0000000])))
        start["sgpr"][4], start["sgpr"][5] = base & 0xFFFFFFFF, base >> 32
    addresses = np.array([first[s] + at - case.offset - base for s, at in where], np.uint64)
    start["vgpr"][2] = addresses & np.uint64(0xFFFFFFFF)
    start["vgpr"][3] = addresses >> np.uint64(32)
    return where


def place_scratch(random: np.random.Generator, case: Case, start: np.void, where: list[tuple[str, int]]) -> None:
    base = int(random.integers(0, 50)) if case.form == "both" else 0
    if case.form == "base":
        base = where[0][1] - case.offset
    start["sgpr"][4] = base
    start["vgpr"][2] = [(at - case.offset - base) & 0xFFFFFFFF for _, at in where]


def expected(case: Case, before: np.void, where: list[tuple[str, int]]):
    """Memory, LDS, scratch and VGPRs afterwards."""
    spaces = {"global": [bytearray(before["memory"].tobytes())] * LANES, "lds": [bytearray(before["lds"].tobytes())] * LANES,
              "scratch": [bytearray(row.tobytes()) for row in before["scratch"]]}  # fmt: skip
    vgpr = before["vgpr"].copy()
    enabled = lanes_of(int(before["sgpr"][EXEC]) | int(before["sgpr"][EXEC + 1]) << 32)
    for lane in np.flatnonzero(enabled):
        space, at = where[lane]
        memory = spaces[space][lane]
        data = [int(before["vgpr"][DATA + i, lane]) for i in range(case.data_words)]
        if case.access.kind == "store":
            store(case.access, memory, at, data)
            continue
        words = load(case.access, memory, at) if case.access.kind == "load" else atomic(case.access, memory, at, data)
        if case.access.kind == "load" or case.returns:
            vgpr[RESULT : RESULT + len(words), lane] = words
    return spaces, vgpr


def run_cases(assembler, probe, apertures, random, cases: list[tuple[Case, str]]) -> list[str]:
    code = assembler.assemble([case.text for case, _ in cases])
    batch = Batch(code, len(cases), vgprs=VGPRS, lds=LDS, scratch=SCRATCH, memory=MEMORY)
    batch.input["entry"] = code.entry
    for name in ("memory", "lds", "scratch"):
        batch.input[name] = random.integers(0, 256, batch.input[name].shape)
    batch.input["vgpr"] = random.integers(0, 2**32, batch.input["vgpr"].shape)
    make_floats_ordinary(random, cases, batch.input)
    set_scalar64(batch.input, EXEC, random.integers(0, ALL_LANES, len(cases), np.uint64, endpoint=True))
    wheres = [place(random, case, start, spaces, apertures) for (case, spaces), start in zip(cases, batch.input, strict=True)]
    failures = []
    for (case, spaces), where, before, after in zip(
        cases, wheres, batch.input, batch.run(probe, target=assembler.target), strict=True
    ):
        if after["faulted"]:
            failures.append(f"{case.text} ({spaces}): {after['fault'].decode()}")
            continue
        memory, vgpr = expected(case, before, where)
        same = (
            after["memory"].tobytes() == bytes(memory["global"][0])
            and after["lds"].tobytes() == bytes(memory["lds"][0])
            and all(after["scratch"][lane].tobytes() == bytes(memory["scratch"][lane]) for lane in range(LANES))
        )
        if not same:
            failures.append(f"{case.text} ({spaces}): memory differs")
        elif not np.array_equal(after["vgpr"], vgpr):
            failures.append(
                f"{case.text} ({spaces}): registers {sorted(set(np.nonzero(after['vgpr'] != vgpr)[0].tolist()))} differ"
            )
    return failures


def make_floats_ordinary(random: np.random.Generator, cases: list[tuple[Case, str]], states: np.ndarray) -> None:
    """Gives floating-point atomics numbers around zero: their results for NaNs are not documented."""
    for (case, _), state in zip(cases, states, strict=True):
        operation = case.access.operation
        if not operation.endswith(("_f", "f16")):
            continue
        kind = (
            np.float16
            if "f16" in operation and "bf16" not in operation
            else np.float64
            if case.access.size == 8
            else np.float32
        )
        if "bf16" in operation:
            kind = np.float32
        for name in ("memory", "lds", "scratch"):
            shape = state[name].shape
            numbers = random.standard_normal(state[name].size // kind().itemsize).astype(kind)
            if "bf16" in operation:  # the upper halves of singles, in both halves of a word
                upper = numbers.view("<u4") >> 16
                numbers = upper | upper << 16
            state[name] = numbers.view("u1").reshape(shape)
        numbers = random.standard_normal((LANES, 8 // kind().itemsize)).astype(kind)
        if "bf16" in operation:
            upper = numbers.view("<u4") >> 16
            numbers = upper | upper << 16
        state["vgpr"][DATA : DATA + 2] = numbers.view("<u4").reshape(LANES, 2).T


@pytest.mark.parametrize("space", ["flat", "global", "scratch"])
def test_vector_memory(assembler, probe, apertures, known, random, space):
    names = [name for name in known if name.startswith(space + "_") and "_lds_" not in name and not OF_GFX10.search(name)]
    assert len(names) >= 20
    cases = [case for name in names for case in cases_of(name)]
    where = {
        "flat": ["global", "lds", "scratch", "mixed", "patterned"],
        "global": ["global", *["patterned"] * 4],
        "scratch": ["scratch"],
    }[space]
    cases = [(case, spaces) for case in cases for spaces in where]
    failures = run_cases(assembler, probe, apertures, random, cases)
    assert not failures, f"{len(failures)} of {len(cases)}:\n" + "\n".join(failures[:30])


@pytest.mark.parametrize("space, where", [("flat", ["global", "lds", "scratch", "mixed"]), ("global", ["global"])])
def test_atomics_of_gfx10(rdna_assembler, probe, apertures, known, random, space, where):
    names = [name for name in known if name.startswith(space + "_") and OF_GFX10.search(name)]
    cases = [replace(case, text=case.text.replace(" sc0", " glc")) for name in names for case in cases_of(name)]
    accepted = set(rdna_assembler.accepted([case.text for case in cases]))
    cases = [(case, spaces) for case in cases if case.text in accepted for spaces in where]
    assert len({case.access.name for case, _ in cases}) >= 4
    failures = run_cases(rdna_assembler, probe, apertures, random, cases)
    assert not failures, f"{len(failures)} of {len(cases)}:\n" + "\n".join(failures[:30])


def run_flat(assembler, probe, line: str, address, lds: int = LDS, command: str = "run"):
    """The state after running one wave whose LDS holds the numbers of its dwords. address: one per lane, or one for all."""
    batch = Batch(assembler.assemble([line]), 1, vgprs=12, lds=lds, scratch=SCRATCH)
    batch.input["lds"][0] = np.arange(lds // 4, dtype="<u4").view("u1")
    address = np.broadcast_to(np.asarray(address, np.uint64), LANES)
    batch.input["vgpr"][0, 2], batch.input["vgpr"][0, 3] = address & np.uint64(0xFFFFFFFF), address >> np.uint64(32)
    batch.input["vgpr"][0, 4:] = 7
    return batch.run(probe, command)[0]


@pytest.mark.parametrize("line", ["flat_load_dword v4, v[2:3]", "flat_store_dword v[2:3], v4"])
@pytest.mark.parametrize(("space", "command"), [("shared", "run-lds-check"), ("private", "run")])
def test_access_out_of_range_faults(assembler, probe, apertures, line, space, command):
    address = getattr(apertures, space) + (LDS if space == "shared" else SCRATCH)
    after = run_flat(assembler, probe, line, address, command=command)
    assert after["faulted"] and "out of range" in after["fault"].decode()


def test_flat_accesses_beyond_the_lds(assembler, probe, apertures):
    """Dwords outside read as 0 and are not written; an atomic there returns 0 and does nothing."""
    end = apertures.shared + LDS - 8
    loaded = run_flat(assembler, probe, "flat_load_dwordx4 v[4:7], v[2:3]", end)
    assert loaded["vgpr"][4:8, 0].tolist() == [LDS // 4 - 2, LDS // 4 - 1, 0, 0]
    stored = run_flat(assembler, probe, "flat_store_dwordx4 v[2:3], v[4:7]", end)
    assert stored["lds"].view("<u4").tolist() == [*range(LDS // 4 - 2), 7, 7]
    updated = run_flat(assembler, probe, "flat_atomic_add v4, v[2:3], v5 sc0", end + 8)
    assert updated["vgpr"][4, 0] == 0 and updated["lds"].view("<u4").tolist() == list(range(LDS // 4))


def test_a_flat_offset_on_a_negative_base_in_the_lds(assembler, probe, apertures):
    address = apertures.shared + 0xFFFFFFF8 + np.arange(LANES, dtype=np.uint64) % 2 * 4
    after = run_flat(assembler, probe, "flat_load_dword v4, v[2:3] offset:16", address)
    assert not after["faulted"] and after["vgpr"][4, :2].tolist() == [2, 3]


@pytest.mark.parametrize("name", ["global_load_lds_dword v[2:3], off", "buffer_load_dword off, s[4:7], 0 lds"])
def test_loads_into_the_lds_drop_dwords_that_do_not_fit(assembler, probe, name):
    batch = Batch(assembler.assemble([f"s_mov_b32 m0, {0x100 - 64:#x}\n{name}"]), 1, vgprs=8, lds=0x100, memory=MEMORY)
    batch.input["memory"][0, :4] = 1
    set_scalar64(batch.input, 4, MEMORY_ADDRESS)
    batch.input["sgpr"][:, 6] = 4
    batch.input["vgpr"][0, 2], batch.input["vgpr"][0, 3] = MEMORY_ADDRESS & 0xFFFFFFFF, MEMORY_ADDRESS >> 32
    after = batch.run(probe)[0]
    assert not after["faulted"] and after["lds"].view("<u4").tolist() == [0] * 48 + [0x01010101] * 16
    assert batch.run(probe, "run-lds-check")[0]["faulted"]


@pytest.mark.parametrize("dwords", [1, 2, 4, 8, 16])
def test_scalar_loads(assembler, probe, random, dwords):
    suffix = "dword" if dwords == 1 else f"dwordx{dwords}"
    result = registers("s", 16, 32 * dwords)
    lines = [f"s_load_{suffix} {result}, s[4:5], {offset}" for offset in ("0x0", "0x44", "-0x20", "s8", "s8 offset:0x24")]
    lines += [f"s_buffer_load_{suffix} {result}, s[12:15], {offset}" for offset in ("0x0", "0x44", "s8")]
    code = assembler.assemble(lines)
    batch = Batch(code, len(lines), memory=MEMORY)
    batch.input["entry"] = code.entry
    batch.input["memory"] = random.integers(0, 256, batch.input["memory"].shape)
    start = 0xFE0  # the access crosses 4 GiB
    set_scalar64(batch.input, 4, MEMORY_ADDRESS + start)
    set_scalar64(batch.input, 12, MEMORY_ADDRESS + start)
    records = 0x60
    batch.input["sgpr"][:, 14] = records
    batch.input["sgpr"][:, 8] = 0x18
    offsets = [0, 0x44, -0x20, 0x18, 0x18 + 0x24, 0, 0x44, 0x18]
    for line, offset, before, after in zip(lines, offsets, batch.input, batch.run(probe, target=assembler.target), strict=True):
        assert not after["faulted"], after["fault"]
        memory = before["memory"].tobytes()
        words = [int.from_bytes(memory[start + offset + 4 * i :][:4], "little") for i in range(dwords)]
        if "buffer" in line:  # out of range reads return 0
            words = [word if offset + 4 * i + 4 <= records else 0 for i, word in enumerate(words)]
        assert after["sgpr"][16 : 16 + dwords].tolist() == words, line
