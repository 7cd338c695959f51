"""The memory check names accesses to memory that does not belong to the program, and does not affect correct programs."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from hip_compiler import compile_hip
from rocm_perf_lab.collect import device as devices

PROGRAMS = Path(__file__).parents[2] / "programs"

FOREIGN = {
    "forges_times": "the completion signal of its dispatch",
    "decrements_value": "the completion signal of its dispatch",
    "writes_reserved": "the completion signal of its dispatch",
    "writes_through_a_buffer": "the completion signal of its dispatch",
    "writes_packet": "the packet of its dispatch",
    "writes_next_packet": "the ring of its queue",
    "writes_queue": "its queue",
    "writes_arguments": "the arguments of its dispatch",
    "writes_code": "loaded code",
    "writes_host": "memory of the runtime or of the host",
    "reads_signal": "the completion signal of its dispatch",
    "reads_next_packet": "the ring of its queue",
    "reads_other_arguments": "memory of kernel arguments",
    "reads_queue": "its queue",
    "reads_host": "memory of the runtime or of the host",
}
ORDINARY = ["reads_its_own", "prints", "allocates", "memory", "signal", "variables", "stack"]
FEATURES = re.findall(r'\{"(\w+)", (?:run_\w+|\[)', (PROGRAMS / "isolate" / "features.hip").read_text())
TESTBED = [
    "vcopy",
    "softmax_testbed",
    "pipeline",
    "reduction",
    "histogram",
    "gemm",
    "stencil",
    "attention",
    "copies",
    "pointer_chase",
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("hip")

    def build(source: Path, *flags: str) -> Path:
        program = folder / f"{source.stem}{''.join(flags)}"
        if not program.exists():
            compile_hip("--offload-arch=gfx942", "-O2", "-w", *flags, "-o", program, source)
        return program

    return build


@pytest.fixture
def check(rocm_perf, native_dir):
    def check(program: Path, *arguments: object, **options) -> subprocess.CompletedProcess[str]:
        return rocm_perf("run", "--device", "gfx942", "--device-option", "memory-check", program, *arguments, **options)

    return check


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_access_fails_the_kernel_and_is_named(built, name: str, tmp_path) -> None:
    found = tmp_path / "found"
    device = devices.select("gfx942", tmp_path, [devices.MEMORY_CHECK])
    environment = device.environment(os.environ) | {devices.FOREIGN_ACCESSES_VARIABLE: str(found)}
    command = [built(PROGRAMS / "foreign_memory.hip"), name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "PASS" not in done.stdout, done.stderr
    (complaint,) = [line for line in done.stderr.splitlines() if line.startswith("rocm-perf-device: ")]
    assert f"kernel {name}(" in complaint and complaint.endswith(f": {FOREIGN[name]}")
    address = re.search(r"address (0x[0-9a-f]+)", complaint)[1]
    verb = name.partition("_")[0] if name.startswith("reads") else "writes"
    assert found.read_text() == f"the kernel {verb} memory that is not its program's: {FOREIGN[name]}, at {address}\n"


def test_a_program_that_ignores_the_error_does_not_succeed(check, built) -> None:
    done = check(built(PROGRAMS / "foreign_memory.hip"), "writes_packet", "look away")
    last = done.stderr.splitlines()[-1]
    assert (
        done.returncode == 51 and "accesses memory outside its own: the kernel writes memory that is not its program's" in last
    )


def test_without_the_check_foreign_accesses_are_allowed(rocm_perf, built) -> None:
    for name in ("forges_times", "writes_packet", "writes_code", "reads_signal", "reads_queue"):
        done = rocm_perf("run", "--device", "gfx942", built(PROGRAMS / "foreign_memory.hip"), name)
        assert done.returncode == 0 and "PASS" in done.stdout, done.stderr


@pytest.mark.parametrize("name", ["writes_host", "reads_host"])
def test_host_memory_has_to_be_registered_unless_the_device_has_page_faults(rocm_perf, built, name: str) -> None:
    command = ("run", "--device", "gfx942", built(PROGRAMS / "foreign_memory.hip"), name)
    without, with_faults = rocm_perf(*command), rocm_perf(*command, environment={"HSA_XNACK": "1"})
    complaint = next(line for line in without.stderr.splitlines() if line.startswith("rocm-perf-device: "))
    assert without.returncode == 1 and "host memory that is not registered (hipHostRegister)" in complaint
    assert "HSA_XNACK=1" in complaint and re.search(r"address 0x[0-9a-f]+$", complaint)
    assert with_faults.returncode == 0 and "PASS" in with_faults.stdout, with_faults.stderr


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_kernels_may_write_all_memory_of_their_program(check, built, name: str) -> None:
    done = check(built(PROGRAMS / "foreign_memory.hip"), name)
    assert done.returncode == 0 and "PASS" in done.stdout, done.stderr
    assert ("thread 3" in done.stdout) == (name == "prints")


@pytest.mark.parametrize("name", FEATURES)
def test_every_way_of_launching_and_of_using_memory_passes(check, built, name: str) -> None:
    source = PROGRAMS / "isolate" / "library.hip"
    if name == "library":
        extra = [built(source, "-shared", "-fPIC", "-DWITH_LAUNCHER")]
    else:
        extra = [built(source, "--offload-device-only", "--no-gpu-bundle-output")] if name in ("module", "floats") else []
    done = check(built(PROGRAMS / "isolate" / "features.hip"), name, *extra)
    assert done.returncode == 0 and "not its program" not in done.stderr, done.stderr


@pytest.mark.parametrize("name", TESTBED)
def test_correct_programs_keep_their_results(check, testbed, name: str) -> None:
    done = check(testbed(name))
    assert done.returncode == 0 and "PASS" in done.stdout, done.stderr


def test_the_memory_check_takes_no_value(rocm_perf, native_dir) -> None:
    done = rocm_perf("run", "--device", "gfx942", "--device-option", "memory-check=1", "true")
    assert done.returncode == 2 and "memory-check=1: it takes no value" in done.stderr
