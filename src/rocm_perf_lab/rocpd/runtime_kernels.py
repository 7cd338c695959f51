"""Identifies the HIP runtime's own kernels: copies, fills, heap set-up, stream waits.

The runtime builds them all into one code object. A kernel belongs to the runtime if it has one of the known names, or if it is
in the same code object as a kernel with such a name. This also covers helpers that a later runtime adds, and never mistakes a
program's kernel for one of the runtime's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

# Names of the blit kernels in ROCm's clr (rocclr/device), and of the kernels next to them in its source.
NAMES = frozenset(
    f"__amd_rocclr_{name}"
    for name in (
        "fillBufferAligned", "fillBufferAligned2D", "copyBuffer", "copyBufferAligned", "copyBufferExt", "copyBufferRect",
        "copyBufferRectAligned", "streamOpsWrite", "streamOpsWait", "batchMemOp", "initHeap", "scheduler", "gwsInit",
        "fillImage", "copyImage", "copyImage1DA", "copyImageToBuffer", "copyBufferToImage",
    )
)  # fmt: skip


def runtime_kernels(code_object_of: Mapping[str, Collection[int | None]]) -> frozenset[str]:
    """The symbols that belong to the runtime. code_object_of: symbol -> ids of the code objects that contain it."""
    own = {code for name in NAMES & code_object_of.keys() for code in code_object_of[name] if code is not None}
    return frozenset(name for name, codes in code_object_of.items() if name in NAMES or own.intersection(codes))
