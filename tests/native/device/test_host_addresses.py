"""Host memory at any address: programs linked to a fixed address have theirs where the device's memory could be, too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hip_compiler import compile_hip
from rocm_perf_lab.collect import device as devices

SOURCE = Path(__file__).parent / "runtime" / "low_addresses.hip"
PAGE_FAULTS = {"HSA_XNACK": "1"}  # the program uses memory that it has not registered, too
LAYOUTS = {"pie": ["-fpie", "-pie"], "fixed": ["-fno-pie", "-no-pie"]}
NUMPY = """
import ctypes, sys
import numpy as np
hip = ctypes.CDLL("libamdhip64.so.7")
def ok(code): assert code == 0, code
for size in [8, 100, 1000, 5000, 20_000, 60_000]:
    arrays = [np.arange(size // 4, dtype=np.float32) + i for i in range(50)]
    memory = ctypes.c_void_p()
    ok(hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(size)))
    for array in arrays:
        ok(hip.hipHostRegister(ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), 0))
        ok(hip.hipMemcpy(memory, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), 1))
        back = np.zeros_like(array)
        ok(hip.hipMemcpy(ctypes.c_void_p(back.ctypes.data), memory, ctypes.c_size_t(array.nbytes), 2))
        assert (back == array).all()
        ok(hip.hipHostUnregister(ctypes.c_void_p(array.ctypes.data)))
print("right")
"""


@pytest.fixture(scope="module")
def environment(native_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return devices.select(devices.SOFTWARE_TARGET, tmp_path_factory.mktemp("device")).environment(os.environ)


def build(folder: Path, layout: str) -> Path:
    program = folder / f"low_addresses_{layout}"
    compile_hip("--offload-arch=gfx942", "-O2", *LAYOUTS[layout], "-o", program, SOURCE)
    return program


@pytest.mark.parametrize("layout", ["pie", "fixed"])
def test_static_arrays_and_the_heap_are_the_hosts(tmp_path: Path, environment: dict[str, str], hipcc: str, layout: str) -> None:
    command = [build(tmp_path, layout)]
    completed = subprocess.run(command, env=environment | PAGE_FAULTS, capture_output=True, text=True, timeout=120)
    assert completed.returncode == 0, completed.stderr
    assert [line.rpartition(": ")[2] for line in completed.stdout.splitlines()] == ["right"] * 4, completed.stdout


@pytest.mark.parametrize("dispatch", ["0", "2"], ids=["device_memory", "registered_heap"])
def test_a_program_at_a_fixed_address_is_captured_and_replayed(
    tmp_path: Path, native_dir: Path, hipcc: str, dispatch: str
) -> None:
    program = build(tmp_path, "fixed")
    perf = [sys.executable, "-m", "rocm_perf_lab"]
    isolate = [*perf, "isolate", "--kernel", "twice", "--dispatch", dispatch, "--output", tmp_path, program]
    subprocess.run(isolate, env=os.environ | PAGE_FAULTS, check=True, capture_output=True, timeout=120)
    replay = [*perf, "replay", "full-vm", "--capture-dir", tmp_path / "isolate_capture", "--compare"]
    completed = subprocess.run(replay, capture_output=True, text=True, timeout=120)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert "0 bytes different" in completed.stdout


def test_arrays_of_a_python_at_a_fixed_address(environment: dict[str, str]) -> None:
    """NumPy's small arrays are in the heap, which in Debian's python lies just above the program's low addresses."""
    pytest.importorskip("numpy")
    completed = subprocess.run([sys.executable, "-c", NUMPY], env=environment, capture_output=True, text=True, timeout=120)
    assert completed.stdout == "right\n", completed.stderr
