"""Identifies the HIP runtime's own kernels: copies, fills, heap set-up, waits in streams.

The runtime builds them all into one code object. A kernel is one of them if it has one of their names, or if it is in a code
object with a kernel that has one. This also covers helpers that a later runtime adds, and mistakes no kernel of a program for
one of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

# ROCm's clr, rocclr/device: names of the blit kernels and of those beside them in the source.
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
