"""Products of matrices of several types, compared with those of PyTorch; prints the matrix instructions and transposing
reads."""

import re

import torch
import triton
import triton.language as tl

M, N, K, TILE = 128, 128, 256, 64


@triton.jit
def multiply(a, b, c, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, TILE: tl.constexpr):
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    depth = tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), tl.float32)
    for k in range(0, DEPTH, TILE):
        of_a = tl.load(a + row[:, None] * DEPTH + (k + depth)[None, :])
        of_b = tl.load(b + (k + depth)[:, None] * COLUMNS + column[None, :])
        total = tl.dot(of_a, of_b, total)
    tl.store(c + row[:, None] * COLUMNS + column[None, :], total)


torch.manual_seed(0)
for dtype in (torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
    a, b = (torch.randn(shape).to(dtype) for shape in ((M, K), (K, N)))
    c = torch.empty((M, N), device="cuda", dtype=torch.float32)
    compiled = multiply[(M // TILE, N // TILE)](a.cuda(), b.cuda(), c, N, K, TILE)
    torch.testing.assert_close(c.cpu(), a.float() @ b.float(), rtol=1e-5, atol=1e-4)
    print(*sorted(set(re.findall(r"v_mfma\w+|ds_read_b64_tr\w+", compiled.asm["amdgcn"]))))
