"""Whatever happens to a capture's files, it is either refused with one clear line or still intact."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from damaged_captures import DESCRIPTIONS, files_of, linked_copy, replace, sign, with_json
from rocm_perf_lab.errors import CaptureError, RocmPerfError
from rocm_perf_lab.isolate import Capture

FAST, MANY = 300, 6000


@pytest.fixture(scope="module", params=[None, 3], ids=["plain", "compressed"])
def original(request, captured, features) -> Path:
    return captured(features, "accumulate", 1, "accumulate", zstd_level=request.param).path


def refusal(path: Path) -> str:
    with pytest.raises(CaptureError) as caught:
        Capture.open(path, every_byte=True)
    text = str(caught.value)
    assert str(path) in text and text.endswith("capture again with `rocm-perf isolate`")
    return text.removeprefix(f"{path}: ")


def data_of(file: Path) -> list[int]:
    """Positions to damage in a file: anywhere, and in sparse files also where there is data."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        first = os.lseek(stream.fileno(), 0, os.SEEK_DATA) if size and file.stat().st_blocks else 0
    return [0, first, size - 1, size // 2]


# ---- damage to files, which checksums must detect ----


def flip(file: Path, rng: random.Random) -> None:
    content = bytearray(file.read_bytes())
    position = rng.choice([*data_of(file), rng.randrange(len(content))])
    content[position] ^= 1 << rng.randrange(8)
    replace(file, bytes(content))


def truncate(file: Path, rng: random.Random) -> None:
    replace(file, file.read_bytes()[: rng.randrange(file.stat().st_size)])


def extend(file: Path, rng: random.Random) -> None:
    replace(file, file.read_bytes() + rng.randbytes(rng.randrange(1, 5000)))


def remove(file: Path, _rng: random.Random) -> None:
    file.unlink()


def link(file: Path, _rng: random.Random) -> None:
    file.rename(file.with_suffix(".elsewhere"))
    file.symlink_to(file.with_suffix(".elsewhere").name)


def overwrite(file: Path, rng: random.Random) -> None:
    content = bytearray(file.read_bytes())
    start = rng.choice([0, rng.randrange(len(content))])
    length = min(rng.randrange(1, 200), len(content) - start)
    fresh = rng.randbytes(length)
    if content[start : start + length] == fresh:
        return flip(file, rng)
    content[start : start + length] = fresh
    replace(file, bytes(content))


DAMAGES = [flip, flip, truncate, extend, remove, link, overwrite]


def damage_and_expect_refusal(original: Path, folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    copy = linked_copy(original, folder / str(seed))
    # Empty files cannot be damaged by a bit flip; damage to small ones matters more than in megabytes of zeros.
    names = [name for name in files_of(copy) if (copy / name).stat().st_size]
    descriptions = [name for name in names if not name.endswith(".bin")]
    name = rng.choice(descriptions if rng.random() < 0.5 else names)
    damage = rng.choice(DAMAGES)
    damage(copy / name, rng)
    assert refusal(copy), (seed, name, damage.__name__)
    for path in sorted(copy.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def test_damaged_files(original, tmp_path):
    for seed in range(FAST):
        damage_and_expect_refusal(original, tmp_path, seed)


@pytest.mark.slow
def test_thousands_of_damaged_files(original, tmp_path):
    for seed in range(FAST, MANY):
        damage_and_expect_refusal(original, tmp_path, seed)


# ---- impossible descriptions with correct checksums ----


def last_region(document: dict) -> dict:
    return document["regions"][-1]


def region_changes() -> dict:
    def overlap(d):
        d["regions"][-2]["bytes"] = int(d["regions"][-1]["base"], 16) - int(d["regions"][-2]["base"], 16) + 4096

    def order(d):
        d["regions"].reverse()

    def twice(d):
        d["regions"].append(d["regions"][-1])

    def set_last(key, value):
        return lambda d: last_region(d).__setitem__(key, value)

    return {
        "overlapping": overlap,
        "not in order": order,
        "twice": twice,
        "zero bytes": set_last("bytes", 0),
        "negative": set_last("bytes", -4096),
        "a fraction": set_last("bytes", 4096.5),
        "not of pages": set_last("bytes", 4097),
        "beyond 48 bits": set_last("bytes", 1 << 48),
        "beyond 64 bits": set_last("bytes", 1 << 64),
        "at the null page": lambda d: d["regions"][0].__setitem__("base", "0x0"),
        "address without 0x": set_last("base", "1800"),
        "file elsewhere": set_last("file", "../../etc/passwd"),
        "absolute file": set_last("file", "/etc/passwd"),
        "after file elsewhere": set_last("after_file", "memory/../../x"),
        "unknown kind": set_last("kind", "imaginary"),
        "no kind": lambda d: last_region(d).pop("kind"),
        "allocation outside": lambda d: last_region(d)["allocations"].append({"address": "0x10", "bytes": 8}),
        "no list": lambda d: d.__setitem__("regions", {}),
        "other pages": lambda d: d.__setitem__("page_bytes", 8192),
        "none": lambda d: d.__setitem__("regions", []),
    }


def dispatch_changes() -> dict:
    def packet(key, value):
        return lambda d: d["packet"].__setitem__(key, value)

    return {
        "kernel elsewhere": packet("kernel_object", "0x7000"),
        "arguments elsewhere": packet("kernarg_address", "0x7000"),
        "empty grid": packet("grid", [0, 1, 1]),
        "two dimensions": packet("grid", [64, 1]),
        "large grid": packet("grid", [1 << 32, 1, 1]),
        "large workgroup": packet("workgroup", [1024, 2, 1]),
        "workgroup overflow": packet("workgroup", [65536, 65536, 65536]),
        "text for a number": packet("setup", "3"),
        "no dimensions": packet("setup", 0),
        "much LDS": packet("group_segment_size", 1 << 30),
        "much scratch": packet("private_segment_size", (1 << 32) - 1),
        "code elsewhere": lambda d: d["code_object"].__setitem__("load_base", "0x10"),
        "no kernel": lambda d: d.pop("kernel"),
        "other arguments": lambda d: d["kernel"].__setitem__("kernarg_segment_size", 8),
        "variable elsewhere": lambda d: d["code_object"]["variables"].append({"name": "x", "address": "0x8", "bytes": 4}),
        "a list": lambda d: d.__setitem__("agent", []),
    }


@pytest.mark.parametrize("what", region_changes())
def test_impossible_regions(original, tmp_path, what):
    assert refusal(with_json(original, tmp_path / "copy", "memory_regions.json", region_changes()[what]))


@pytest.mark.parametrize("what", dispatch_changes())
def test_impossible_dispatches(original, tmp_path, what):
    assert "dispatch.json" in (
        text := refusal(with_json(original, tmp_path / "copy", "dispatch.json", dispatch_changes()[what]))
    ) or ("kernarg.bin" in text)


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "memory/../../x", "memory/region_zz.bin", "other.json", ""])
def test_a_manifest_that_names_files_outside_of_a_capture(original, tmp_path, name):
    copy = linked_copy(original, tmp_path / "copy")
    sign(copy, lambda manifest: manifest["files"].__setitem__(name, {"bytes": 1, "xxh3_128": "0" * 32}))
    assert "is not a file of a capture" in refusal(copy)


@pytest.mark.parametrize("change", [{"version": 2}, {"format": "something else"}, {"files": []}, {"files": None}])
def test_an_unknown_format_is_refused(original, tmp_path, change):
    copy = linked_copy(original, tmp_path / "copy")
    sign(copy)
    manifest = json.loads((copy / "manifest.json").read_bytes()) | change
    replace(copy / "manifest.json", json.dumps(manifest).encode())
    assert "manifest.json" in refusal(copy)


# ---- arbitrary changes, correctly signed ----


def mutate(value, rng: random.Random):
    """The JSON value with one change in it."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(sorted(value))
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return value | {key: mutate(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        index = rng.randrange(len(value))
        if rng.random() < 0.2:
            return value[:index] + value[index + 1 :]
        return value[:index] + [mutate(value[index], rng)] + value[index + 1 :]
    odd = [
        None,
        True,
        -1,
        0,
        1,
        4096,
        1 << 31,
        (1 << 64) - 1,
        1 << 70,
        1e300,
        "",
        "0x",
        "0xffffffffffffffff",
        "0x1000",
        "\u0000",
        [],
        {},
        "x" * 5000,
    ]
    return rng.choice(odd)


def mutate_index(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.randrange(1, 3)):
        position = rng.randrange(len(changed) // 4) * 4
        number = rng.choice([0, 1, 0xFFFFFFFF, 0x80000000, 4096, 4097, rng.getrandbits(32)])
        changed[position : position + 4] = number.to_bytes(4, "little")
    return bytes(changed)


def mutate_and_open(original: Path, folder: Path, seed: int) -> bool:
    """Whether it was refused. Both outcomes are fine, since a name may change; a crash or another error is not."""
    rng = random.Random(seed)
    copy = linked_copy(original, folder / str(seed))
    name = rng.choice(
        [name for name in DESCRIPTIONS if (copy / name).stat().st_size and name not in ("kernarg.bin", "kernel.hsaco")]
    )
    content = (copy / name).read_bytes()
    mutated = json.dumps(mutate(json.loads(content), rng)).encode() if name.endswith(".json") else mutate_index(content, rng)
    replace(copy / name, mutated)
    sign(copy)
    try:
        Capture.open(copy, every_byte=True)
        return False
    except (CaptureError, KeyError, TypeError, ValueError) as error:
        assert isinstance(error, RocmPerfError), (seed, name, error)
        assert len(str(error).splitlines()) == 1
        return True


def test_signed_mutations(original, tmp_path):
    assert sum(mutate_and_open(original, tmp_path, seed) for seed in range(FAST)) > FAST / 2


@pytest.mark.slow
def test_thousands_of_signed_mutations(original, tmp_path):
    assert sum(mutate_and_open(original, tmp_path, seed) for seed in range(FAST, MANY)) > MANY / 2
