"""The testbed detects a wrong instruction: one line of the semantics is broken on purpose, and the programs must fail."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import needs

MUTATIONS = {
    "v_sub_f32": (
        "vector_float.cpp",
        'return a - b; }>("v_sub_f32")',
        'return b - a; }>("v_sub_f32")',
        "softmax_testbed",
    ),
    "s_mul_i32": ("scalar_alu.cpp", 'return a * b; }>("s_mul_i32")', 'return a * b + 1; }>("s_mul_i32")', "vcopy"),
}


def broken_device(native_dir: Path, repository: Path, folder: Path, file: str, before: str, after: str) -> Path:
    """Builds the device library with one source file replaced, from the objects of the existing build."""
    source = repository / "native" / "device" / "exec" / "semantics" / file
    text = source.read_text()
    assert text.count(before) == 1, f"{before!r} is not once in {file}"
    mutant = folder / file
    mutant.write_text(text.replace(before, after))
    database = needs.built(native_dir / "compile_commands.json")
    entries = json.loads(database.read_text())
    entry = next(e for e in entries if e["file"] == str(source))
    command = shlex.split(entry["command"])
    command[command.index(str(source))] = str(mutant)
    object_file = folder / (file + ".o")
    command[command.index("-o") + 1] = str(object_file)
    subprocess.run([*command, "-O1"], cwd=entry["directory"], check=True)
    archive = folder / "librpd_engine.a"
    shutil.copy(next(native_dir.rglob("librpd_engine.a")), archive)
    subprocess.run(["ar", "r", archive, object_file], check=True, capture_output=True)
    runtime = [str(Path(e["directory"]) / e["output"]) for e in entries if "/rocmperf_device.dir/" in e["output"]]
    library = folder / "lib" / "librocmperf_device.so"
    library.parent.mkdir()
    subprocess.run(["c++", "-shared", "-o", library, *runtime, archive, "-lamd_comgr", "-lpthread", "-ldl"], check=True)
    for part in ("lib/librocmperf_tracer.so", "lib/librocmperf_preload.so", "bin/rocmperf-rocpd-writer"):
        (folder / part).parent.mkdir(exist_ok=True)
        shutil.copy(native_dir / part, folder / part)
    return folder


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_broken_instruction_fails_the_testbed(mutation, native_dir, repository, testbed, tmp_path, rocm_perf):
    file, before, after, program = MUTATIONS[mutation]
    broken = broken_device(native_dir, repository, tmp_path, file, before, after)
    run = rocm_perf("run", testbed(program), environment={"ROCM_PERF_LAB_NATIVE_DIR": str(broken)})
    assert run.returncode == 1, run.stdout + run.stderr
    assert "FAIL" in run.stdout + run.stderr
