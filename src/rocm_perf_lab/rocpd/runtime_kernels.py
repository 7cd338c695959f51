"""Which kernels are the HIP runtime's own: copies, fills, heap set-up, waits in streams.

The runtime builds them all into one code object. A kernel is one of them if it has one of their names, or lies in a code
object with one that has: so helpers that a later runtime adds are known, too, and no kernel of a program is taken for one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

# ROCm's clr, rocclr/device: names of the blit kernels and of those beside them in their source.
NAMES = frozenset(
    f"__amd_rocclr_{name}"
    for name in (
        "fillBufferAligned", "fillBufferAligned2D", "copyBuffer", "copyBufferAligned", "copyBufferExt", "copyBufferRect",
        "copyBufferRectAligned", "streamOpsWrite", "streamOpsWait", "batchMemOp", "initHeap", "scheduler", "gwsInit",
        "fillImage", "copyImage", "copyImage1DA", "copyImageToBuffer", "copyBufferToImage",
    )
)  # fmt: skip


def runtime_kernels(code_object_of: Mapping[str, Collection[int | None]]) -> frozenset[str]:
    """Those of the symbols that are the runtime's. code_object_of: symbol -> ids of the code objects that hold it."""
    own = {code for name in NAMES & code_object_of.keys() for code in code_object_of[name] if code is not None}
    return frozenset(name for name, codes in code_object_of.items() if name in NAMES or own.intersection(codes))
