"""The changes to Triton and PyTorch in a process that runs on the software device."""

from __future__ import annotations

import sys
from functools import wraps
from types import ModuleType
from typing import Any

from rocm_perf_triton import benchmark, compiled_kernels, configuration_names, hipblaslt, linker, proton, source_files
from rocm_perf_triton.after_import import after_import
from rocm_perf_triton.host_arrays import HostArray, as_argument
from rocm_perf_triton.launcher import launching
from rocm_perf_triton.versions import refusal, untried

_NAME = "rocm_perf"  # name of the entry point


def install() -> None:
    """Called while Triton is being imported. The changes wait for `triton.testing`, the last module that they need."""
    after_import("triton.testing", _change_triton)
    after_import("triton.profiler.profile", proton.install)
    after_import("torch", _change_torch)


def _change_triton(testing: Any) -> None:
    import triton
    from triton.backends import backends
    from triton.compiler import ASTSource, CompiledKernel
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction, KernelInterface

    version = triton.__version__
    if (reason := refusal(version)) is not None:
        raise ImportError(reason)
    if (note := untried(version)) is not None:
        print(note, file=sys.stderr)
    for name, backend in backends.items():
        if name != _NAME:  # the machine may have another vendor's GPU
            backend.driver.is_active = staticmethod(lambda: False)
    _change_hip_backend()
    configuration_names.install(Autotuner, JITFunction)
    source_files.install(ASTSource)
    compiled_kernels.install(CompiledKernel, version)
    testing.do_bench = testing.do_bench_cudagraph = benchmark.do_bench
    KernelInterface.__getitem__ = _with_grid(KernelInterface.__getitem__)
    CompiledKernel.__getitem__ = _with_grid(CompiledKernel.__getitem__)
    JITFunction.warmup = _accepting_arrays(JITFunction.warmup)


def _change_hip_backend() -> None:
    """Give Triton's HIP back end the sizes of arrays (to find these, Triton 3.4, 3.6 and 3.7 would import PyTorch), a linker
    (which Triton 3.4 lacks), and a substitute for hipBLASLt.
    """
    from triton._C.libtriton import amd
    from triton.backends.amd.compiler import HIPBackend

    of_tensors = HIPBackend.is_within_2gb

    def is_within_2gb(argument: Any) -> bool:
        if isinstance(argument, HostArray):
            return argument.ptr_range() < 2**31
        return bool(of_tensors(argument))

    HIPBackend.is_within_2gb = staticmethod(is_within_2gb)
    linker.name_one()
    hipblaslt.install(amd)


def _with_grid(getitem: Any) -> Any:
    """The method behind kernel[grid], changed so that launches also accept NumPy arrays and objects that support DLPack."""

    @wraps(getitem)
    def item(self: Any, grid: Any) -> Any:
        return _accepting_arrays(getitem(self, grid))

    return item


def _accepting_arrays(function: Any) -> Any:
    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        with launching():
            return function(*map(as_argument, arguments), **{name: as_argument(value) for name, value in named.items()})

    return call


def _change_torch(torch: ModuleType) -> None:
    from rocm_perf_triton import torch_cuda

    torch_cuda.install(torch)
