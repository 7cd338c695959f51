"""The software device's interface for code in the same process (native/device/include/rocm_perf_device.h)."""

from __future__ import annotations

import ctypes
import os
from ctypes import CFUNCTYPE, c_char_p, c_int, c_uint32, c_uint64, c_void_p
from functools import cache

_VERSION = 5


class _Api(ctypes.Structure):
    _fields_ = [
        ("version", c_uint32),
        ("device", c_char_p),
        ("timing", c_char_p),
        ("parameters_hash", c_char_p),
        ("counter_count", c_uint32),
        ("counters", c_void_p),
        ("record_dispatches", c_void_p),
        ("has_dispatch", c_void_p),
        ("take_dispatch", c_void_p),
        ("aperture_size", c_void_p),
        ("map_memory", CFUNCTYPE(c_int, c_uint64, c_uint64)),
        ("unmap_memory", c_void_p),
        ("host_address", CFUNCTYPE(c_void_p, c_uint64)),
        ("invalidate_caches", CFUNCTYPE(None)),
    ]


@cache
def _api() -> _Api:
    """The interface, which is valid once ROCr has started the device; the first allocation starts it."""
    library = ctypes.CDLL(os.environ["HSA_MODEL_LIB"])
    library.rpd_get_api.restype = ctypes.POINTER(_Api)
    api: _Api = library.rpd_get_api().contents
    if api.version != _VERSION:
        raise RuntimeError(f"the software device has interface {api.version}, not {_VERSION}: rebuild rocm-perf-lab")
    return api


def write(device: int, host: int, size: int) -> None:
    """Copy host memory to device memory. This is not a HIP copy: it takes no modelled time and does not appear in traces."""
    ctypes.memmove(_api().host_address(device), host, size)


def read(host: int, device: int, size: int) -> None:
    """Copy device memory to host memory, in the same way."""
    ctypes.memmove(host, _api().host_address(device), size)


def fill(device: int, contents: bytes) -> None:
    """Copy these bytes to device memory, in the same way."""
    ctypes.memmove(_api().host_address(device), contents, len(contents))


def parameters_hash() -> str:
    """Identifies the timing model's parameters."""
    digest: bytes = _api().parameters_hash
    return digest.decode()


def contents(device: int, size: int) -> bytes:
    return ctypes.string_at(_api().host_address(device), size)


def invalidate_caches() -> None:
    """Make the next kernel start with empty caches."""
    _api().invalidate_caches()
