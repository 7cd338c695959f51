"""Requests to the kernel driver work on the software device, or fail with a HIP error: nothing aborts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hip_compiler import compile_hip
from rocm_perf_lab.collect import device as devices

PROGRAMS = Path(__file__).parent / "runtime"
FEATURES = [
    "managed",
    "managed_variable",
    "prefetch",
    "async_allocation",
    "pools",
    "virtual_memory",
    "priorities",
    "cu_mask",
    "ipc",
    "forking",
]
TARGETS = ["gfx942", "gfx942:sramecc+:xnack-"]

# ROCr asks the driver for the graphics half's export of memory, and for counters: these calls are not hooked anywhere.
UNKNOWN = """
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <cstdio>
#include <dlfcn.h>
int main() {
  if (hsa_init() != HSA_STATUS_SUCCESS) return 1;
  hsa_agent_t gpu{};
  hsa_iterate_agents([](hsa_agent_t agent, void* found) {
    hsa_device_type_t type;
    hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
    if (type == HSA_DEVICE_TYPE_GPU) *static_cast<hsa_agent_t*>(found) = agent;
    return HSA_STATUS_SUCCESS;
  }, &gpu);
  hsa_queue_t* queue;
  if (hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue) != HSA_STATUS_SUCCESS) return 1;
  const hsa_status_t status = hsa_amd_spm_acquire(gpu);
  std::puts(status == HSA_STATUS_SUCCESS ? "success" : "an error");
  std::puts(hsa_queue_destroy(queue) == HSA_STATUS_SUCCESS ? "goes on" : "broken");
  hsa_shut_down();
}
"""


@pytest.fixture(scope="module")
def environment(native_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return devices.select(devices.SOFTWARE_TARGET, tmp_path_factory.mktemp("device")).environment(os.environ)


@pytest.fixture(scope="module", params=TARGETS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built for the generic target and for the one that an MI300X names."""
    program = tmp_path_factory.mktemp("driver") / "driver_calls"
    source = PROGRAMS / "driver_calls.hip"
    compile_hip(f"--offload-arch={request.param}", "-O2", "-o", program, source)
    return program


@pytest.mark.parametrize("feature", FEATURES)
def test_the_feature_works(environment: dict[str, str], program: Path, feature: str) -> None:
    completed = subprocess.run([program, feature], env=environment, capture_output=True, text=True, timeout=60)
    assert (completed.returncode, completed.stdout) == (0, "right\n"), completed.stderr


def test_the_device_has_the_name_and_the_target_of_its_product(environment: dict[str, str], program: Path) -> None:
    completed = subprocess.run([program, "name"], env=environment, capture_output=True, text=True, timeout=60)
    assert completed.stdout == "AMD Instinct MI300X\ngfx942:sramecc+:xnack-\nright\n", completed.stderr


def test_an_unknown_driver_call_fails_and_is_named(environment: dict[str, str], tmp_path: Path, hipcc: str) -> None:
    source, program = tmp_path / "unknown.cpp", tmp_path / "unknown"
    source.write_text(UNKNOWN)
    subprocess.run(["hipcc", "-x", "c++", source, "-o", program, "-lhsa-runtime64"], check=True, capture_output=True)
    completed = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=60)
    assert (completed.returncode, completed.stdout) == (0, "an error\ngoes on\n"), completed.stderr
    assert "the device has no such driver call" in completed.stderr


FAULTS = """
#include <hip/hip_runtime.h>
__global__ void wild(int* p) { p[1ull << 36] = 1; }
__global__ void tame(int* p) { *p = 1; }
int main() {
  int* p;
  (void)hipMalloc(&p, 4);
  wild<<<1, 1>>>(p);
  tame<<<1, 1>>>(p);
  return 0 * (int)hipDeviceSynchronize();
}
"""


def test_a_profile_names_a_failed_kernel_even_if_the_program_did_not_fail(tmp_path: Path, native_dir: Path) -> None:
    source, program = tmp_path / "faults.hip", tmp_path / "faults"
    source.write_text(FAULTS)
    compile_hip("--offload-arch=gfx942", "-O2", source, "-o", program)
    command = [sys.executable, "-m", "rocm_perf_lab", "profile", "-q", program]
    completed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert completed.returncode == 52, completed.stdout + completed.stderr
    assert "a kernel of" in completed.stderr and "wild(int*)" in completed.stderr
    assert "launched no GPU kernel" not in completed.stderr
