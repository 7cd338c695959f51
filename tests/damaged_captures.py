"""Damaged captures: copies with one change, and with correct checksums where that is needed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import xxhash

DESCRIPTIONS = (
    "dispatch.json",
    "memory_regions.json",
    "kernarg.bin",
    "kernel.hsaco",
    "memory/before.index",
    "memory/after.index",
)


def files_of(capture: Path) -> list[str]:
    """Every file of a capture, relative to it, in a fixed order."""
    return sorted(str(path.relative_to(capture)) for path in capture.rglob("*") if path.is_file())


def linked_copy(capture: Path, target: Path) -> Path:
    """A copy that shares its files with the original: replace them, do not change them."""
    (target / "memory").mkdir(parents=True)
    for name in files_of(capture):
        os.link(capture / name, target / name)
    return target


def replace(file: Path, content: bytes) -> None:
    file.unlink(missing_ok=True)
    file.write_bytes(content)


def sign(capture: Path, change: Callable[[dict], None] = lambda manifest: None) -> None:
    """Updates the checksums in the manifest, then applies `change` to it, then signs it."""
    path = capture / "manifest.json"
    manifest = json.loads(path.read_bytes())
    for name in DESCRIPTIONS:
        if name in manifest["files"] and (capture / name).is_file():
            content = (capture / name).read_bytes()
            manifest["files"][name] = {"bytes": len(content), "xxh3_128": xxhash.xxh3_128_hexdigest(content)}
    change(manifest)
    manifest.pop("checksum", None)
    compact = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    replace(path, json.dumps(manifest | {"checksum": xxhash.xxh3_128_hexdigest(compact.encode())}).encode())


def with_json(capture: Path, target: Path, name: str, change: Callable[[dict], None]) -> Path:
    """A signed copy in which `change` was applied to a JSON file."""
    linked_copy(capture, target)
    document = json.loads((target / name).read_bytes())
    change(document)
    replace(target / name, json.dumps(document).encode())
    sign(target)
    return target


def with_last_region_at(capture: Path, target: Path, base: int) -> Path:
    """An intact copy whose last region, which the dispatch does not use, lies elsewhere."""
    linked_copy(capture, target)
    regions = json.loads((target / "memory_regions.json").read_bytes())
    moved = regions["regions"][-1]
    old, new = (f"memory/region_{number:x}" for number in (int(moved["base"], 16), base))
    first = moved["allocations"][0]["address"]
    for allocation in moved["allocations"]:
        allocation["address"] = hex(int(allocation["address"], 16) - int(first, 16) + base)
    moved |= {"base": hex(base), "file": f"{new}.bin", "after_file": f"{new}.after.bin"}
    replace(target / "memory_regions.json", json.dumps(regions).encode())

    def rename(manifest: dict) -> None:
        for suffix in (".bin", ".after.bin"):
            if old + suffix in manifest["files"]:
                manifest["files"][new + suffix] = manifest["files"].pop(old + suffix)
                shutil.move(target / (old + suffix), target / (new + suffix))

    sign(target, rename)
    return target
