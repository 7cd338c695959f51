"""Programs that fail on the device: each ends as with ROCr or HIP, and one line says where and why."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from hip_compiler import compile_hip

PROGRAMS = Path(__file__).parents[2] / "programs"
KERNEL_LIMIT = "kernel-limit=100000"
NO_LIMIT = {"ROCM_PERF_DEVICE_OPTIONS": "kernel-limit=1000000000000"}

# name -> HIP's message afterwards, kernel and words of the error message (None: HIP refuses before the device sees it)
FAULTS = {
    "out_of_bounds": ("hipErrorIllegalAddress", "store_behind", r"memory access fault: global_store.*lane 0 .*past the end of an allocation of 4194304 bytes at 0x"),
    "null": ("hipErrorIllegalAddress", "load_null", r"memory access fault: .*load.*address 0x0: a null pointer"),
    "middle_of_a_wave": ("hipErrorIllegalAddress", "crosses_the_end", r"lane 16 of wave 0.*: 0 bytes past the end of an allocation of 4194304 bytes"),
    "misaligned_atomic": ("hipErrorIllegalAddress", "misaligned_atomic", r"misaligned atomic: global_atomic_add.*address 0x\w*2\b"),
    "illegal": ("hipErrorLaunchFailure", "illegal_instruction", r"illegal instruction: .*not an instruction of this target"),
    "endless": ("hipErrorLaunchFailure", "endless", r"a deadlock: .*waits for memory to change"),
    "lds": ("hipErrorIllegalAddress", "lds_overrun", r"LDS access out of range: ds_write.*lane 0 .*address 0x400000"),
    "stack": ("hipErrorIllegalAddress", "stack_overflow", r"private memory \(stack\) access out of range"),
    "jump": ("hipErrorIllegalAddress", "jump_away", r"pc 0x2000000000 .*instruction fetch from memory that is not mapped"),
    "jump_to_constants": ("hipErrorLaunchFailure", "jump_to_constants", r"illegal instruction: .*it is data, not code"),
    "jump_to_buffer": ("hipErrorLaunchFailure", "jump_away", r"illegal instruction: .*it is data, not code"),
    "trap": ("hipErrorLaunchFailure", "trap", r"the kernel ended itself .*s_trap 2; lane 5 of "),
    "assertion": ("hipErrorLaunchFailure", "fails_assertion", r"the kernel ended itself .*s_trap 2; lane 5 of "),
    "abort_in_kernel": ("hipErrorLaunchFailure", "calls_abort", r"the kernel ended itself .*s_trap 2; lane 5 of "),
    "too_many_registers": ("hipErrorLaunchFailure", None, None),
    "too_much_lds": ("hipErrorInvalidValue", None, None),
    "too_many_threads": ("hipErrorInvalidConfiguration", None, None),
}  # fmt: skip

ENDS = {
    "raise": -signal.SIGSEGV,
    "host_segfault": -signal.SIGSEGV,
    "abort": -signal.SIGABRT,
    "exit": 3,
    "leave": 3,
    "kill": -signal.SIGKILL,
}


@pytest.fixture(scope="module")
def environment(native_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    from rocm_perf_lab.collect import device as devices

    options = [KERNEL_LIMIT, "lds-check", "deadlock-after=2"]
    return devices.select(devices.SOFTWARE_TARGET, tmp_path_factory.mktemp("device"), options).environment(os.environ)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("hip")

    def build(name: str) -> Path:
        program = folder / name
        if not program.exists():
            compile_hip("--offload-arch=gfx942", "-O2", "-w", "-o", program, PROGRAMS / f"{name}.hip")
        return program

    return build


def run(program: Path, *arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_ends_as_hip_ends_it_and_says_where(compiled, environment, name: str) -> None:
    error, kernel, words = FAULTS[name]
    if name == "assertion":
        environment = environment | NO_LIMIT  # the kernel waits for the host to print it
    done = run(compiled("faults"), name, environment=environment)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("before: hipSuccess\n") and error in done.stdout
    complaints = [line for line in done.stderr.splitlines() if line.startswith("rocm-perf-device: ")]
    if words is None:
        assert complaints == []
        return
    assert len(complaints) == 1 and kernel in complaints[0] and re.search(words, complaints[0]), complaints
    assert "pc 0x" in complaints[0] and (kernel == "endless" or "wave 0 of workgroup 0" in complaints[0])


def test_a_failed_assertion_is_printed_as_hip_prints_it(compiled, environment) -> None:
    done = run(compiled("faults"), "assertion", environment=environment | NO_LIMIT)
    assert "fails_assertion(int *, int): Device-side assertion `threadIdx.x != lane' failed." in done.stderr + done.stdout


@pytest.mark.parametrize("name", ["misaligned", "breakpoint"])
def test_allowed_accesses_are_not_faults(compiled, environment, name: str) -> None:
    """Misaligned accesses, and a breakpoint without a debugger, are allowed."""
    done = run(compiled("faults"), name, environment=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ENDS)
def test_a_program_ends_as_usual_with_the_device_loaded(compiled, environment, name: str) -> None:
    assert run(compiled("faults"), name, environment=environment).returncode == ENDS[name]


def test_a_killed_program_leaves_nothing(compiled, environment, process_is_gone) -> None:
    process = subprocess.Popen(
        [compiled("faults"), "wait_for_ever"], env=environment | NO_LIMIT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "before: hipSuccess\n"
    time.sleep(0.2)  # the kernel runs
    process.kill()
    assert process.wait(10) == -signal.SIGKILL
    process.stdout.close()
    assert process_is_gone(process.pid) and not Path(f"/proc/{process.pid}").exists()


def test_memory_stays_flat_over_ten_thousand_launches(compiled, environment) -> None:
    launches = 10_000
    done = run(compiled("launches"), str(launches), environment=environment)
    assert done.returncode == 0, done.stderr
    resident_kib, heap_bytes = map(int, done.stdout.split())
    assert resident_kib < 128
    # Temporary allocations, such as a batch of HIP's commands, may be present in one of the two measurements or in both.
    assert heap_bytes < 10 * launches


def test_returning_with_kernels_in_flight_is_clean(compiled, environment) -> None:
    """HIP's handlers must not run while its static objects are destroyed: that corrupted the heap in every tenth run."""
    for _ in range(25):
        done = run(compiled("launches"), "2000", "unsynchronized", environment=environment)
        assert done.returncode == 0 and "corruption" not in done.stderr, done.stderr


def test_a_late_event_thread_does_not_end_the_program(compiled, compile_c, environment) -> None:
    """ROCr's event thread may raise a queue's event after the queue is gone, at which the thunk's model would abort."""
    late = compile_c("late_locks.so", (PROGRAMS / "late_locks.c").read_text(), "-shared", "-fPIC", "-ldl")
    for _ in range(8):
        done = run(compiled("launches"), "10", "unsynchronized", environment=environment | {"LD_PRELOAD": str(late)})
        assert done.returncode == 0, done.stderr


def test_an_unknown_device_option_is_refused(compiled, environment) -> None:
    done = run(compiled("faults"), "misaligned", environment=environment | {"ROCM_PERF_DEVICE_OPTIONS": "kernel-limits=3"})
    assert done.returncode != 0
    assert (
        "device option kernel-limits is unknown (known: deadlock-after=SECONDS, flush-l2, initial-values=SEED, kernel-limit=N, "
        "lds-check, memory-check, observe=all|auto|sampled|none, race-check[=SEED], timed-cu=N, timing.NAME=VALUE, unordered-atomics)"
        in done.stderr
    )
