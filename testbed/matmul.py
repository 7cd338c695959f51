"""A Triton matrix product with a space of its own; checks its results and prints PASS.

    python matmul.py [SIZE | MxNxK]...

Needs Triton and NumPy. On the software device: rocm-perf run python testbed/matmul.py
"""

from __future__ import annotations

import itertools
import sys

import numpy as np
import triton
import triton.language as tl


def configurations() -> list[triton.Config]:
    """Tiles of at least 32 x 32 whose two operands fit in LDS; more waves than 4 only for tiles that can feed them."""
    found = []
    for m, n, k, warps, stages in itertools.product((32, 64, 128), (32, 64, 128), (32, 64, 128), (2, 4, 8), (1, 2)):
        if (m + n) * k * 2 <= 1 << 16 and m * n >= warps * 512:
            found.append(triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}, num_warps=warps, num_stages=stages))
    return found


@triton.autotune(configs=configurations(), key=["M", "N", "K"])
@triton.jit
def matmul(a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """c = a b: row-major fp16, accumulated in fp32."""
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    left = a + row[:, None] * K + inner[None, :]
    right = b + inner[:, None] * N + column[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        rest = K - k * BLOCK_K
        x = tl.load(left, mask=(row[:, None] < M) & (inner[None, :] < rest), other=0.0)
        y = tl.load(right, mask=(inner[:, None] < rest) & (column[None, :] < N), other=0.0)
        total = tl.dot(x, y, total)
        left += BLOCK_K
        right += BLOCK_K * N
    tl.store(c + row[:, None] * N + column[None, :], total.to(tl.float16), mask=(row[:, None] < M) & (column[None, :] < N))


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    (m, k), n = a.shape, b.shape[1]
    c = np.empty((m, n), np.float16)
    matmul[lambda meta: (triton.cdiv(m, meta["BLOCK_M"]), triton.cdiv(n, meta["BLOCK_N"]))](a, b, c, m, n, k)
    return c


def main() -> None:
    generator = np.random.default_rng(0)
    for text in sys.argv[1:] or ["128"]:
        m, n, k = (int(part) for part in text.split("x")) if "x" in text else (int(text),) * 3
        a, b = (generator.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
        difference = np.abs(product(a, b) - a.astype(np.float32) @ b.astype(np.float32)).max()
        if difference > 2e-3 * k**0.5 + 1e-2:
            sys.exit(f"FAIL {text}: a result differs by {difference}")
    print("PASS")


if __name__ == "__main__":
    main()
