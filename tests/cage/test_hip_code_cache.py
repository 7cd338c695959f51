"""Code that HIP compiled before is found in the cage, and code that a program in the cage compiles stays there."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from rocm_perf_lab import cage
from rocm_perf_lab.collect import device as devices


def entry(folder: Path, name: str, size: int = 4, age: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"c" * size)
    os.utime(folder / name, (10_000 - age, 10_000 - age))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("at", ["AMD_COMGR_CACHE_DIR", "XDG_CACHE_HOME", "HOME"])
def test_the_users_cache_is_where_hip_looks_for_it(at, monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("AMD_COMGR_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv(at, str(tmp_path / "user"))
    below = {"AMD_COMGR_CACHE_DIR": "", "XDG_CACHE_HOME": "comgr", "HOME": ".cache/comgr"}[at]
    entry(tmp_path / "user" / below, "llvmcache-1")
    copy = tmp_path / "copy"
    assert cage.copy_of_cache(copy) == {"AMD_COMGR_CACHE_DIR": str(copy)}
    assert names(copy) == {"llvmcache-1"} and (copy / "llvmcache-1").read_bytes() == b"cccc"
    assert not (copy / "llvmcache-1").samefile(tmp_path / "user" / below / "llvmcache-1")


def test_the_newest_small_entries_are_copied_and_nothing_else(monkeypatch, tmp_path) -> None:
    user, copy = tmp_path / "user", tmp_path / "copy"
    monkeypatch.setenv("AMD_COMGR_CACHE_DIR", str(user))
    for age in range(70):
        entry(user, f"llvmcache-{age}", age=age)
    entry(user, "llvmcache-small", (1 << 20), age=-1)
    entry(user, "llvmcache-large", (1 << 20) + 1, age=-1)
    entry(user, "notes", age=-1)
    (user / "llvmcache-link").symlink_to("/etc/passwd")
    cage.copy_of_cache(copy)
    assert names(copy) == {"llvmcache-small", *(f"llvmcache-{age}" for age in range(63))}


def test_without_a_cache_the_copy_is_empty(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("AMD_COMGR_CACHE_DIR", str(tmp_path / "none"))
    cage.copy_of_cache(tmp_path / "copy")
    assert names(tmp_path / "copy") == set() and not (tmp_path / "none").exists()


def test_an_entry_that_cannot_be_copied_whole_is_left_out(monkeypatch, tmp_path) -> None:
    user, copy = tmp_path / "user", tmp_path / "copy"
    monkeypatch.setenv("AMD_COMGR_CACHE_DIR", str(user))
    entry(user, "llvmcache-kept")
    entry(user, "llvmcache-half")
    whole = shutil.copyfile

    def copyfile(source: Path, target: Path) -> None:
        whole(source, target)
        if source.name == "llvmcache-half":
            raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(shutil, "copyfile", copyfile)
    cage.copy_of_cache(copy)
    assert names(copy) == {"llvmcache-kept"}


def test_hip_compiles_nothing_that_the_copy_holds(testbed, monkeypatch, tmp_path) -> None:
    first, copy = tmp_path / "first", tmp_path / "copy"
    device = devices.select("gfx942", tmp_path)
    run(testbed("vcopy"), device.environment(os.environ) | {"AMD_COMGR_CACHE_DIR": str(first)})
    compiled = {name for name in names(first) if name.startswith("llvmcache-")}
    assert compiled
    monkeypatch.setenv("AMD_COMGR_CACHE_DIR", str(first))
    variable = cage.copy_of_cache(copy)
    assert names(copy) == compiled
    run(testbed("vcopy"), device.environment(os.environ) | variable)
    assert {name for name in names(copy) if name.startswith("llvmcache-")} == compiled


def run(program: Path, environment: dict[str, str]) -> None:
    done = subprocess.run([program, "-n", "32768"], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "PASS" in done.stdout, done.stderr
