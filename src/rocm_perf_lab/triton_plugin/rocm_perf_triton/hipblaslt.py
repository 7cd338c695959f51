"""What stands for hipBLASLt, which Triton offers to scripts that compare themselves with it: PyTorch on the CPU."""

from __future__ import annotations

from typing import Any


class HipblasLt:
    """As Triton's own class, which needs a library of ROCm's. Takes no modelled time, as all operations of PyTorch's."""

    def __init__(self, workspace: object = None):
        pass

    def matmul(self, a: Any, b: Any, c: Any) -> None:
        """c = a times the transpose of b, accumulated in single precision."""
        c.copy_((a.float() @ b.float().T).to(c.dtype))

    def gemm(self, a: Any, b: Any, c: Any, d: Any, alpha: float, beta: float) -> None:
        """d = alpha times a times the transpose of b, plus beta times c."""
        d.copy_((alpha * (a.float() @ b.float().T) + beta * c.float()).to(d.dtype))


def install(amd: Any) -> None:
    """amd: Triton's native module for AMD's GPUs; old ones know no hipBLASLt."""
    if hasattr(amd, "hipblas"):
        amd.hipblas.HipblasLt = HipblasLt
