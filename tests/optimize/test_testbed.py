"""`rocm-perf optimize` on programs of the testbed, with its default build: what gains, and what is left unchanged and why. The
command's statements are checked against independent sources: hipcc and the programs themselves, patch, and the parameter table.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import needs
from hip_compiler import compile_hip

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.usefixtures("hipcc")
EVENTS = {
    "backup", "begin", "build", "build repeats", "profile", "application baseline", "gate", "capture", "proposal", "verdict",
    "answer", "accepted", "end",
}  # fmt: skip
BINARIES = {"softmax": "softmax_testbed"}  # from the testbed's own build, where their names differ from those of the sources
# program, its arguments, options of optimize. The stencil's loop runs over 4 planes.
GAINING = [
    pytest.param("stencil", "-n 20 --steps 1", ["--factors", "2"], id="stencil", marks=pytest.mark.slow),
    pytest.param("softmax", "--rows 256 --cols 64 --kernel naive", ["--factors", "4"], id="softmax", marks=pytest.mark.slow),
    pytest.param("reduction", "--type int --kernel lds", ["--factors", "4"], id="reduction", marks=pytest.mark.slow),
    pytest.param("softmax", "", ["--factors", "8"], id="softmax, as it comes", marks=pytest.mark.slow),
    pytest.param(
        "reduction", "", ["--factors", "4", "--min-improvement", "0.01"], id="reduction, as it comes", marks=pytest.mark.slow
    ),
]


@pytest.fixture
def folder(repository, tmp_path):
    """A folder with the sources of the testbed and nothing else."""
    for source in (repository / "testbed").glob("*.h*"):
        shutil.copy(source, tmp_path)
    return tmp_path


def optimized(rocm_perf_in, folder: Path, name: str, arguments: str, *options: str) -> dict:
    words = [
        "--device",
        "gfx942",
        "--max-iters",
        "1",
        "--auto-approve",
        "--accept",
        "modelled",
        "--json",
        *options,
        f"{name}.hip",
    ]
    return json.loads(rocm_perf_in(folder, "optimize", *words, f"./{name} {arguments}").stdout)


def parameters_hash(repository: Path) -> str:
    """As docs/DEVICE_MODEL.md defines it."""
    table = tomllib.loads((repository / "src/rocm_perf_lab/arch/timing_gfx942.toml").read_text())
    text = "".join(f"{name}={table[name]['value']!r}\n" for name in sorted(table))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize("name, arguments, options", GAINING)
def test_a_program_gains_by_bit_identical_unrolling(name, arguments, options, folder, rocm_perf_in, repository, testbed):
    source = folder / f"{name}.hip"
    original = source.read_bytes()
    found = optimized(rocm_perf_in, folder, name, arguments, "--transforms", "unroll,unroll-strided", *options)
    assert found["accepted"] and found["improvement"] > 0.02 and found["timing"] == "modelled"
    (iteration,) = found["iterations"]
    (proposal,) = [one for one in found["proposals"] if one["description"] == iteration["description"]]
    assert proposal["transformation"] in ("unroll", "unroll-strided") and "fewer cycles of waves" in iteration["why"]
    measured = next(step for step in proposal["verdict"]["steps"] if step["step"] == "measurement")
    assert measured["reason"].endswith("modelled") and measured["evidence"]["cold_caches"]

    journal = [json.loads(line) for line in Path(found["run"], "journal.jsonl").read_text().splitlines()]
    assert {entry["event"] for entry in journal} >= EVENTS
    frozen = parameters_hash(repository)
    assert {entry["timing_parameters"] for entry in journal if entry["event"] == "profile"} == {frozen}
    assert found["timing_parameters"] == frozen

    assert source.read_bytes() == original
    patched = folder / "patched"
    shutil.copytree(folder, patched, ignore=shutil.ignore_patterns("*.rocm-perf-optimize", "*.optimized.*"))
    needs.program("patch")
    subprocess.run(["patch", "-p1", "-i", found["written"][1]], cwd=patched, check=True, stdout=subprocess.DEVNULL)
    assert (patched / source.name).read_bytes() == Path(found["written"][0]).read_bytes() != original
    compile_hip("-O3", "--offload-arch=gfx942", source.name, "-o", name, cwd=patched)
    words = arguments.split()
    before = rocm_perf_in(folder, "run", testbed(BINARIES.get(name, name)), *words).stdout
    assert "PASS" in before and rocm_perf_in(patched, "run", f"./{name}", *words).stdout == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, reason",
    [
        ("vcopy", "could gain"),
        ("pointer_chase", "its body has nothing that the transformations could change"),
    ],
)
def test_a_program_that_cannot_gain_is_left_unchanged_with_a_reason(name, reason, folder, rocm_perf_in, native_dir):
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    found = optimized(rocm_perf_in, folder, name, "", "--transforms", "unroll,unroll-strided", "--factors", "4")
    assert not found["accepted"] and not found["written"] and found["final_ms"] == found["baseline_ms"]
    assert found["left_alone"] and all(reason in one["reason"] for one in found["left_alone"])
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
