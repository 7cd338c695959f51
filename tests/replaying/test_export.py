"""The reproducer builds with make and gives the captured bytes, in a separate folder without any part of rocm-perf-lab."""

from __future__ import annotations

import shutil
import subprocess

import pytest

import needs
from rocm_perf_lab.isolate import Capture


@pytest.fixture(scope="module")
def reproducer(captured, features, rocm_perf_in, tmp_path_factory):
    needs.program("c++")
    case: Capture = captured(features, "through_variables", 0, "variables", zstd_level=3)
    folder = tmp_path_factory.mktemp("export")
    done = rocm_perf_in(folder, "replay", "export", case.path, "-o", "case")
    assert "case" in done.stdout
    by_hand = ["c++", "-std=c++17", "-O2", "-rdynamic", "-o", "reproducer", "reproducer.cpp", "-lhsa-runtime64", "-ldl"]
    command = ["make", "reproducer"] if shutil.which("make") else by_hand
    subprocess.run(command, cwd=folder / "case", check=True, capture_output=True)
    return folder / "case"


def run(reproducer, rocm_perf):
    return rocm_perf("run", "--device", "gfx942", "./reproducer", "3", cwd=reproducer)


def test_the_reproducer_gives_the_captured_bytes(reproducer, rocm_perf):
    done = run(reproducer, rocm_perf)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "memory after the kernel: as captured" in done.stdout and "through_variables" in done.stdout
    assert "make" in (reproducer / "README.md").read_text()


def test_the_reproducer_detects_a_difference(reproducer, rocm_perf):
    (after, *_) = sorted((reproducer / "memory").glob("*.after.bin"))
    content = bytearray(after.read_bytes())
    content[-1] ^= 1
    after.write_bytes(content)
    try:
        done = run(reproducer, rocm_perf)
    finally:
        content[-1] ^= 1
        after.write_bytes(content)
    assert done.returncode == 1 and "DIFFERENT" in done.stdout


def test_an_existing_folder_is_not_changed(reproducer, captured, features, rocm_perf):
    case = captured(features, "through_variables", 0, "variables", zstd_level=3)
    done = rocm_perf("replay", "export", case.path, "-o", reproducer)
    assert done.returncode == 73 and "exists" in done.stderr
    assert (reproducer / "Makefile").exists()
