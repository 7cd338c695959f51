"""How several workers share a device."""

from __future__ import annotations

import pytest

from rocm_perf_lab.autotune.triton_kernel import bench
from rocm_perf_lab.collect.device import Device

SOFTWARE, HARDWARE = (Device(is_hardware, "gfx942", "a device", {}, (), ()) for is_hardware in (False, True))


@pytest.mark.parametrize(
    "device, worker, count, cores, variables",
    [
        (HARDWARE, 0, 1, 8, {}),
        (SOFTWARE, 0, 1, 8, {}),
        (HARDWARE, 1, 2, 8, {"ROCR_VISIBLE_DEVICES": "1"}),
        (HARDWARE, 0, 2, 8, {"ROCR_VISIBLE_DEVICES": "0"}),
        (SOFTWARE, 1, 2, 8, {"ROCM_PERF_DEVICE_THREADS": "4"}),
        (SOFTWARE, 1, 3, 8, {"ROCM_PERF_DEVICE_THREADS": "2"}),
        (SOFTWARE, 3, 4, 2, {"ROCM_PERF_DEVICE_THREADS": "1"}),
    ],
)
def test_each_worker_has_a_gpu_or_its_share_of_the_cores(monkeypatch, device, worker, count, cores, variables):
    monkeypatch.setattr(bench, "available_cores", lambda: cores)
    assert bench._worker_environment(worker, count, device) == variables
