"""The device's runtime under real programs: queues, packets, signals, errors, and time that depends on the program alone."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from disassembly import llvm_tool
from hip_compiler import compile_hip
from rocm_perf_lab.collect import device as devices

PROGRAMS = Path(__file__).parent / "runtime"
SCENARIOS = re.findall(r'\{"(\w+)", \w+\},', (PROGRAMS / "queue_scenarios.cpp").read_text())

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def run(native_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """run(command, **variables) runs a program on the software device, for at most two minutes."""
    device = devices.select(devices.SOFTWARE_TARGET, tmp_path_factory.mktemp("device"))

    def run(*command: object, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = device.environment(os.environ) | variables
        return subprocess.run([*map(str, command)], env=environment, capture_output=True, text=True, timeout=120)

    return run


@pytest.fixture(scope="session")
def scenarios(native_dir: Path) -> Path:
    return native_dir / "bin" / "rpd_queue_scenarios"


@pytest.fixture(scope="session")
def ends_badly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("hip") / "ends_badly"
    source = PROGRAMS / "ends_badly.hip"
    compile_hip("--offload-arch=gfx942", "-O3", "-o", program, source)
    return program


@pytest.mark.parametrize("name", SCENARIOS)
def test_queues_do_what_hsa_says(run: Run, scenarios: Path, name: str) -> None:
    completed = run(scenarios, name)
    assert completed.returncode == 0, completed.stdout + completed.stderr


@pytest.mark.parametrize("name", ["ring_wraps", "barrier_and", "many_waiters", "async_handlers"])
def test_execution_does_not_need_the_tools_library(run: Run, scenarios: Path, name: str) -> None:
    """Without it, the device does not see the host's side: times are less accurate, which it warns about once; results are
    not."""
    completed = run(scenarios, name, HSA_TOOLS_LIB="")
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert completed.stderr.count("HSA_TOOLS_ROCPROFILER_V1_TOOLS=1") == 1
    assert "HSA_TOOLS" not in run(scenarios, name).stderr


@pytest.mark.parametrize("name", ["copies_in_order", "timeouts_are_modelled"])
def test_modelled_times_repeat(run: Run, scenarios: Path, name: str) -> None:
    outputs = {run(scenarios, name).stdout for _ in range(5)}
    assert len(outputs) == 1 and outputs != {""}


def test_a_multi_stream_program_is_submitted_and_timed_the_same_every_time(run: Run, testbed: Callable[[str], Path]) -> None:
    """Every packet, with the modelled time at which its thread submitted it, no matter how fast the machine is."""

    def packets(threads: int) -> list[str]:
        completed = run(testbed("pipeline"), ROCM_PERF_DEVICE_LOG="1", ROCM_PERF_DEVICE_THREADS=str(threads))
        assert completed.returncode == 0, completed.stderr
        found = re.findall(r"queue (\S+) packet (\d+): type (\d+), signal \S+ submitted at (\d+)", completed.stderr)
        return [*sorted(found), completed.stdout]

    first = packets(threads=1)
    assert len(first) > 10
    assert all(packets(threads) == first for threads in (1, 2, 4))


def test_an_unknown_instruction_fails_the_program_and_says_which(run: Run, ends_badly: Path) -> None:
    completed = run(ends_badly, "illegal")
    assert completed.returncode != 0
    assert completed.stdout.startswith("before: hipSuccess\n")
    assert "after: hipSuccess" not in completed.stdout
    complaint = next(line for line in completed.stderr.splitlines() if line.startswith("rocm-perf-device: "))
    assert "illegal_instruction" in complaint and "0x" in complaint


def test_a_wild_store_fails_the_program_and_says_where(run: Run, ends_badly: Path) -> None:
    completed = run(ends_badly, "fault")
    assert completed.returncode != 0
    assert "after: hipErrorIllegalAddress" in completed.stdout
    assert "address 0x2000000000" in completed.stderr


def test_a_wrong_thread_count_is_refused_by_name(run: Run, scenarios: Path) -> None:
    completed = run(scenarios, "ring_wraps", ROCM_PERF_DEVICE_THREADS="many")
    assert completed.returncode == 0
    assert "ROCM_PERF_DEVICE_THREADS=many is not a number from 1 to 1024" in completed.stderr


def test_programs_with_many_libraries_can_load_the_device(native_dir):
    """In each thread's static memory, glibc reserves 512 bytes for all libraries loaded later (rtld.optional_static_tls)."""
    segments = [llvm_tool("llvm-readelf"), "--program-headers", "--wide", native_dir / "lib" / "librocmperf_device.so"]
    text = subprocess.run(segments, capture_output=True, text=True, check=True).stdout
    (size,) = (int(line.split()[5], 16) for line in text.splitlines() if line.split()[:1] == ["TLS"])
    assert size <= 384
