"""Code objects damaged in every way end a replay with a documented code and one line, wherever the damage is noticed: in the
replay itself, in ROCr's loader, in the disassembler, or in the damaged kernel."""

from __future__ import annotations

import random
import struct

import pytest

from rocm_perf_lab.errors import RocmPerfError, exit_codes
from rocm_perf_lab.replaying import replay

SECTIONS = slice(0x28, 0x30)  # words of the ELF header with the positions of these tables


@pytest.fixture
def mix(captured, features, module):
    return captured(features, "mix", 0, "module", module())


def truncated(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.choice([rng.randrange(len(data)), rng.randrange(0, len(data), 512), rng.randrange(200)])]


def flipped(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def overwritten(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data))
    size = min(rng.choice([1, 4, 16, 512, 2048]), len(data) - start)
    return data[:start] + rng.choice([bytes(size), b"\xff" * size, rng.randbytes(size)]) + data[start + size :]


def other_table(rng: random.Random, data: bytes) -> bytes:
    """Changes a word in the ELF header or in the entry of a segment or section to another number."""
    (sections,) = struct.unpack("<Q", data[SECTIONS])
    first = rng.choice([0x10, 64, sections])
    place = first + 4 * rng.randrange(12 if first == 0x10 else 140)
    if place + 8 > len(data):
        return data
    number = rng.choice([0, 1, 7, len(data) - 1, len(data), 1 << 31, (1 << 32) - 1, 1 << 40, (1 << 63) - 4096, (1 << 64) - 1])
    return data[:place] + struct.pack("<Q", number) + data[place + 8 :]


def moved(rng: random.Random, data: bytes) -> bytes:
    place, size = rng.randrange(len(data)), rng.choice([1, 4, 64, 512])
    return data[:place] + (rng.randbytes(size) + data[place:] if rng.random() < 0.5 else data[place + size :])


DAMAGES = [truncated, flipped, overwritten, other_table, moved]


def ends_well(mix, file, content: bytes) -> int:
    """The exit code of a replay with the code object; 0 where the damage does not matter."""
    file.write_bytes(content)
    try:
        replay(mix, hsaco=file, iterations=1, timeout=5, device="gfx942", device_options=["kernel-limit=100000"])
    except RocmPerfError as error:
        assert "ended with status" not in error.problem and "was killed by" not in error.problem, error
        return error.exit_code
    return 0


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_code_object_ends_well(mix, tmp_path, damage):
    rng, data = random.Random(f"few {damage.__name__}"), mix.code_object.read_bytes()
    codes = {ends_well(mix, tmp_path / "k.hsaco", damage(rng, data)) for _ in range(6)}
    assert codes <= {0, 41, 42}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_hundreds_of_damaged_code_objects_end_well(mix, tmp_path, damage):
    rng, data = random.Random(f"many {damage.__name__}"), mix.code_object.read_bytes()
    codes = [ends_well(mix, tmp_path / "k.hsaco", damage(rng, data)) for _ in range(120)]
    assert set(codes) <= {0, 41, 42} and 41 in codes


@pytest.mark.parametrize("size", [1, 17, 63, 100, 512, 2048, 4096])
def test_a_truncated_code_object_is_unusable(mix, rocm_perf, tmp_path, size):
    file = tmp_path / "k.hsaco"
    file.write_bytes(mix.code_object.read_bytes()[:size])
    for form in ([], ["--json"]):
        done = rocm_perf("replay", "full-vm", "--capture-dir", mix.path, "--hsaco", file, "--device", "gfx942", *form)
        assert (done.returncode, done.stdout) == (41, ""), done.stderr
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"rocm-perf: error: {file}: ") and done.returncode in dict(exit_codes())
