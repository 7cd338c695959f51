"""Where the driver for the software device is active."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from rocm_perf_triton import activation


@pytest.mark.parametrize(
    ("library", "device", "hip_of_torch", "active"),
    [
        ("libamdhip64.so", "librocmperf_device.so", None, True),
        ("libamdhip64.so", None, None, False),  # on a GPU, rocm-perf sets no device library
        (None, "librocmperf_device.so", None, False),  # a device of another program
        ("libamdhip64.so", "librocmperf_device.so", "7.1", False),  # Triton's own driver works with this PyTorch
    ],
)
def test_the_driver_is_active_on_the_software_device_unless_pytorch_has_hip(library, device, hip_of_torch, active, monkeypatch):
    for name, value in (("ROCM_PERF_HIP_LIBRARY", library), ("HSA_MODEL_LIB", device)):
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(version=SimpleNamespace(hip=hip_of_torch)))
    assert activation.is_active() == active
