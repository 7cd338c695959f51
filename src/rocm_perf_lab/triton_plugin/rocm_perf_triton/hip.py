"""The part of HIP needed to launch kernels, called through ctypes so that nothing has to be compiled."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from typing import Any

from rocm_perf_triton.activation import hip_library

# Values of hipFunction_attribute and hipDeviceAttribute_t in hip_runtime_api.h, ROCm 6.0 and newer.
MAX_THREADS_PER_BLOCK, LOCAL_SIZE_BYTES, NUM_REGS = 0, 3, 4
DEVICE_ATTRIBUTES = {
    "sm_clock_rate": 5,
    "cooperativeLaunch": 10,
    "max_threads_per_sm": 57,
    "mem_bus_width": 59,
    "mem_clock_rate": 60,
    "multiprocessor_count": 63,
    "max_num_regs": 71,
    "max_shared_mem": 74,
    "warpSize": 87,
}

_SIX = (c_uint,) * 6
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "hipMalloc": (c_void_p, c_size_t),
    "hipFree": (c_void_p,),
    "hipModuleLoadData": (c_void_p, c_char_p),
    "hipModuleUnload": (c_void_p,),
    "hipModuleGetFunction": (c_void_p, c_void_p, c_char_p),
    "hipFuncGetAttribute": (c_void_p, c_int, c_void_p),
    "hipDeviceGetName": (c_char_p, c_int, c_int),
    "hipDeviceGetAttribute": (c_void_p, c_int, c_int),
    "hipDeviceSynchronize": (),
    "hipEventCreate": (c_void_p,),
    "hipEventRecord": (c_void_p, c_void_p),
    "hipEventElapsedTime": (c_void_p, c_void_p, c_void_p),
    "hipEventDestroy": (c_void_p,),
    "hipModuleLaunchKernel": (c_void_p, *_SIX, c_uint, c_void_p, c_void_p, c_void_p),
    "hipModuleLaunchCooperativeKernel": (c_void_p, *_SIX, c_uint, c_void_p, c_void_p),
}


class HipError(RuntimeError):
    """A HIP call failed."""


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(hip_library())
    for name, types in _FUNCTIONS.items():
        getattr(library, name).argtypes = types
    library.hipGetErrorString.restype = c_char_p
    library.hipGetErrorString.argtypes = (c_int,)
    return library


def call(name: str, *arguments: Any) -> None:
    """Call the HIP function `name`. Raises HipError if it fails."""
    library = _library()
    status = getattr(library, name)(*arguments)
    if status != 0:
        reason = library.hipGetErrorString(status).decode()
        raise HipError(f"Triton Error [HIP]: Code: {status}, Message: {reason} ({name})")


def allocate(size: int) -> int:
    """The address of `size` newly allocated bytes of device memory."""
    address = c_void_p()
    call("hipMalloc", byref(address), size)
    return address.value or 0


def free(address: int) -> None:
    call("hipFree", address)


def load(image: bytes, name: str) -> tuple[int, int]:
    """Load a code object; returns the handles of its module and of the kernel `name` in it."""
    module, function = c_void_p(), c_void_p()
    call("hipModuleLoadData", byref(module), image)
    call("hipModuleGetFunction", byref(function), module, name.encode())
    return module.value or 0, function.value or 0


def unload(module: int) -> None:
    call("hipModuleUnload", module)


def function_attribute(function: int, attribute: int) -> int:
    value = c_int()
    call("hipFuncGetAttribute", byref(value), attribute, function)
    return value.value


def device_name() -> str:
    name = ctypes.create_string_buffer(256)
    call("hipDeviceGetName", name, len(name), 0)
    return name.value.decode()


def device_attribute(attribute: int) -> int:
    value = c_int()
    call("hipDeviceGetAttribute", byref(value), attribute, 0)
    return value.value


def synchronize() -> None:
    call("hipDeviceSynchronize")


class Stopwatch:
    """A pair of events that measures how long a launch takes on the device."""

    def __init__(self) -> None:
        self.start, self.stop = c_void_p(), c_void_p()
        call("hipEventCreate", byref(self.start))
        call("hipEventCreate", byref(self.stop))

    @contextmanager
    def running(self, stream: int) -> Iterator[None]:
        """Times the launch in the `with` block; leaving the block waits for the launch to end."""
        call("hipEventRecord", self.start, stream)
        yield
        call("hipEventRecord", self.stop, stream)
        synchronize()

    def milliseconds(self) -> float:
        elapsed = c_float()
        call("hipEventElapsedTime", byref(elapsed), self.start, self.stop)
        return elapsed.value

    def close(self) -> None:
        with suppress(HipError):  # once a kernel has failed, every call fails
            call("hipEventDestroy", self.start)
            call("hipEventDestroy", self.stop)
