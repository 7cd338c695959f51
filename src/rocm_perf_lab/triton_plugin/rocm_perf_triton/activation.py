"""Determines whether this process runs on the software device, and with which HIP library."""

from __future__ import annotations

import importlib.metadata
import os
import sys

LIBRARY_VARIABLE = "ROCM_PERF_HIP_LIBRARY"
TARGET_VARIABLE = "ROCM_PERF_TRITON_TARGET"


def hip_library() -> str | None:
    """The HIP runtime that rocm-perf chose for the software device; None if the process does not run on that device."""
    library = os.environ.get(LIBRARY_VARIABLE)
    return library if os.environ.get("HSA_MODEL_LIB") else None


def target() -> str:
    """The LLVM target of the software device."""
    return os.environ.get(TARGET_VARIABLE, "gfx942")


def capability() -> tuple[int, int]:
    """The compute capability of the target as PyTorch numbers it: gfx942 is (9, 4)."""
    return int(target()[3]), int(target()[4])


def is_active() -> bool:
    """Whether Triton should use this driver. It should not if PyTorch supports HIP, since Triton's own driver works then."""
    return hip_library() is not None and not _torch_has_hip()


def _torch_has_hip() -> bool:
    torch = sys.modules.get("torch")
    if torch is not None:
        return bool(getattr(torch.version, "hip", None)) and not hasattr(torch, "_rocm_perf_cuda")
    try:
        return "rocm" in importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return False
