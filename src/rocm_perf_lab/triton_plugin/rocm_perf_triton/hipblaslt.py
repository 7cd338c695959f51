"""A substitute for hipBLASLt, which Triton offers to scripts for comparisons. The computation is done by PyTorch on the CPU."""

from __future__ import annotations

from typing import Any


class HipblasLt:
    """Works like Triton's own class, which needs a ROCm library. Takes no modelled time, like all PyTorch operations."""

    def __init__(self, workspace: object = None):
        pass

    def matmul(self, a: Any, b: Any, c: Any) -> None:
        """c = a times the transpose of b, accumulated in single precision."""
        c.copy_((a.float() @ b.float().T).to(c.dtype))

    def gemm(self, a: Any, b: Any, c: Any, d: Any, alpha: float, beta: float) -> None:
        """d = alpha times a times the transpose of b, plus beta times c."""
        d.copy_((alpha * (a.float() @ b.float().T) + beta * c.float()).to(d.dtype))


def install(amd: Any) -> None:
    """amd: Triton's native module for AMD GPUs; old versions lack hipBLASLt."""
    if hasattr(amd, "hipblas"):
        amd.hipblas.HipblasLt = HipblasLt
