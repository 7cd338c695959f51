"""A function with configurations of every kind, launched with two sizes; the results are checked at the end."""

import sys

import numpy as np
import triton
import triton.language as tl

CONFIGS = [
    *(triton.Config({"BLOCK": block, "LOSES_TAIL": False}, num_warps=1) for block in (64, 256, 1024)),
    triton.Config({"BLOCK": 128, "LOSES_TAIL": True}, num_warps=1),
    triton.Config({"BLOCK": 32, "LOSES_TAIL": False}, num_warps=32),  # 2048 threads, where 1024 is the limit
]


@triton.autotune(configs=CONFIGS, key=["n"], restore_value=["out"])
@triton.jit
def accumulate(out, x, n, BLOCK: tl.constexpr, LOSES_TAIL: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n - 1 if LOSES_TAIL else at < n
    if LOSES_TAIL:  # it also takes longer, so that Triton's own autotuning never chooses it
        zero = tl.zeros((BLOCK,), tl.float32)
        for _ in range(8):
            zero = tl.atomic_add(out + at, zero, mask=inside) * 0
    tl.store(out + at, tl.load(out + at, mask=inside) + tl.load(x + at, mask=inside), mask=inside)


@triton.jit
def scale(out, x, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


for size in (1000, 5001):
    x, out = np.arange(size, dtype=np.float32), np.ones(size, np.float32)
    accumulate[lambda meta, size=size: (triton.cdiv(size, meta["BLOCK"]),)](out, x, size)
    assert np.array_equal(out, x + 1), size
    accumulate[lambda meta, size=size: (triton.cdiv(size, meta["BLOCK"]),)](out, x, size)
    assert np.array_equal(out, x + x + 1), size
    scale[(triton.cdiv(size, 256),)](out, x, size, 0.5, BLOCK=256)
    assert np.array_equal(out, x / 2), size
print("what the script prints")
sys.exit(int(sys.argv[1]) if sys.argv[1:] else 0)
