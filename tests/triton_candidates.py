"""Scripts with a Triton kernel, and changes to them: some wrong, some right and faster. Each: (name, script, replacements)."""

from __future__ import annotations

MATMUL = """\
import numpy as np
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, stride_am, stride_bk, stride_cm,
           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        at = k + inner
        x = tl.load(a + row[:, None] * stride_am + at[None, :], mask=(row[:, None] < M) & (at[None, :] < K), other=0.0)
        y = tl.load(b + at[:, None] * stride_bk + column[None, :], mask=(at[:, None] < K) & (column[None, :] < N), other=0.0)
        total = tl.dot(x, y, total)
    tl.store(c + row[:, None] * stride_cm + column[None, :], total.to(tl.float16),
             mask=(row[:, None] < M) & (column[None, :] < N))


def product(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = np.empty((M, N), np.float16)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    matmul[grid](a, b, c, M, N, K, K, N, N, BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, num_warps=1)
    return c


generator = np.random.default_rng(0)
a, b = (generator.standard_normal(shape).astype(np.float16) for shape in ((80, 128), (128, 96)))
c = product(a, b)
assert np.abs(c - a.astype(np.float32) @ b.astype(np.float32)).max() < 0.05
"""

SOFTMAX = """\
import numpy as np
import triton
import triton.language as tl


@triton.jit
def softmax(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    top = -float("inf")
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        top = tl.maximum(top, tl.max(tl.load(x + row + at, mask=at < columns, other=-float("inf")), 0))
    total = 0.0
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.exp(tl.load(x + row + at, mask=at < columns, other=-float("inf")) - top), 0)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.exp(tl.load(x + row + at, mask=at < columns, other=-float("inf")) - top) / total
        tl.store(out + row + at, value, mask=at < columns)


for columns in (200, 333):
    x = np.random.default_rng(0).random((32, columns), np.float32)
    out = np.empty_like(x)
    softmax[(32,)](out, x, columns, BLOCK=64)
    assert np.allclose(out, np.exp(x) / np.exp(x).sum(1, keepdims=True))
"""
_SOFTMAX_BODY = SOFTMAX[SOFTMAX.index("    row = ") : SOFTMAX.index("\n\nfor columns")]
_SOFTMAX_LAUNCH = "softmax[(32,)](out, x, columns, BLOCK=64)"
_ONE_BLOCK = """\
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    value = tl.load(x + row + at, mask=at < columns, other=-float("inf"))
    value = tl.exp(value - tl.max(value, 0))
    tl.store(out + row + at, value / tl.sum(value, 0), mask=at < columns)
"""

SUMS = """\
import numpy as np
import triton
import triton.language as tl


@triton.jit
def sums(out, x, rows, columns, BLOCK: tl.constexpr):
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.int32)
    for row in range(0, rows):
        total += tl.load(x + row * columns + column, mask=column < columns, other=0)
    tl.store(out + column, total, mask=column < columns)


x = np.random.default_rng(0).integers(0, 1000, (64, 1000), np.int32)
out = np.zeros(1000, np.int32)
sums[(triton.cdiv(1000, 64),)](out, x, 64, 1000, BLOCK=64, num_warps=1)
assert np.array_equal(out, x.sum(0))
"""
_SUMS_BODY = SUMS[SUMS.index("    column = ") : SUMS.index("\n\nx = ")]
_SUMS_LAUNCH = "sums[(triton.cdiv(1000, 64),)](out, x, 64, 1000, BLOCK=64, num_warps=1)"
_BY_CHUNKS = """\
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(1) * CHUNK + tl.arange(0, CHUNK)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    total = tl.sum(tl.load(x + row[:, None] * columns + column[None, :], mask=inside, other=0), 0)
"""
_CHUNK = ("BLOCK: tl.constexpr)", "BLOCK: tl.constexpr, CHUNK: tl.constexpr)")

_TILES = ("triton.cdiv(M, 16), triton.cdiv(N, 16)", "triton.cdiv(M, 32), triton.cdiv(N, 32)")
_LARGER = (_TILES, ("BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, num_warps=1", "BLOCK_M=32, BLOCK_N=32, BLOCK_K=64, num_warps=4"))

# Words of the reason for each.
WRONG = [
    ("the last columns of K are lost", MATMUL, [("range(0, K, BLOCK_K)", "range(0, K // BLOCK_K * BLOCK_K, BLOCK_K)")],
     "c[0]"),
    ("K is written into the loop", MATMUL, [("range(0, K, BLOCK_K)", "range(0, 128, BLOCK_K)"), ("< K)", "< 128)")], "c[0]"),
    ("no mask along K", MATMUL, [("(row[:, None] < M) & (at[None, :] < K)", "row[:, None] < M"),
                                 ("(at[:, None] < K) & (column[None, :] < N)", "column[None, :] < N")], "K=127"),
    ("the mask of the result has the wrong bound", MATMUL,
     [("mask=(row[:, None] < M) & (column[None, :] < N))", "mask=(row[:, None] < M) & (column[None, :] < M))")], "c["),
    ("strides are swapped", MATMUL, [("M, N, K, K, N, N,", "M, N, K, N, K, N,")], "stride_am=96"),
    ("accumulates in half precision", MATMUL,
     [("(BLOCK_M, BLOCK_N), tl.float32)", "(BLOCK_M, BLOCK_N), tl.float16)"),
      ("total = tl.dot(x, y, total)", "total += tl.dot(x, y).to(tl.float16)")], "ULP at most"),
    ("the result is rounded to bfloat16", MATMUL, [("total.to(tl.float16)", "total.to(tl.bfloat16).to(tl.float16)")],
     "elements differ"),
    ("the result is of a different type", MATMUL, [("(M, N), np.float16)", "(M, N), np.float32)")],
     "c is float32, but float16 in the baseline"),
    ("the grid is too small", MATMUL, [("triton.cdiv(N, 16))", "triton.cdiv(N, 32))")], "c["),
    ("the result is transposed", MATMUL,
     [("c + row[:, None] * stride_cm + column[None, :]", "c + column[None, :] * stride_cm + row[:, None]")], ""),
    ("reads rows beyond the array", MATMUL,
     [*_LARGER, ("mask=(row[:, None] < M) & (at[None, :] < K)", "mask=at[None, :] < K")], "as launched, captured inputs: "),
    ("programs add to one tile without atomics", MATMUL,
     [("triton.cdiv(N, 16))", "triton.cdiv(N, 16), 2)"),
      ("range(0, K, BLOCK_K)", "range(tl.program_id(2) * BLOCK_K, K, 2 * BLOCK_K)"),
      ("c = np.empty", "c = np.zeros"),
      ("    tl.store(c + row[:, None] * stride_cm + column[None, :], total.to(tl.float16),",
       "    where = c + row[:, None] * stride_cm + column[None, :]\n"
       "    total += tl.load(where, mask=(row[:, None] < M) & (column[None, :] < N))\n"
       "    tl.store(where, total.to(tl.float16),")], ""),
    ("only the first block", SOFTMAX, [(_SOFTMAX_BODY, _ONE_BLOCK), ("BLOCK=64", "BLOCK=256")], "out["),
    ("padding counts as numbers", SOFTMAX,
     [(_SOFTMAX_BODY, _ONE_BLOCK.replace('-float("inf")', "0.0")), ("BLOCK=64", "BLOCK=512")], "out["),
    ("overflows for large numbers", SOFTMAX,
     [(_SOFTMAX_BODY, _ONE_BLOCK.replace("value - tl.max(value, 0)", "value")), ("BLOCK=64", "BLOCK=512")], "out["),
    ("half precision in between", SOFTMAX,
     [(_SOFTMAX_BODY, _ONE_BLOCK.replace("value - tl.max(value, 0)", "(value - tl.max(value, 0)).to(tl.float16).to(tl.float32)")),
      ("BLOCK=64", "BLOCK=512")], "ULP at most"),
    ("the input is changed, too", SOFTMAX,
     [(_SOFTMAX_BODY, _ONE_BLOCK + "    tl.store(x + row + at, value, mask=at < columns)\n"), ("BLOCK=64", "BLOCK=512")], "x[0]"),
    ("the last block is not summed", SOFTMAX,
     [("range(0, columns, BLOCK):\n        at = start + tl.arange(0, BLOCK)\n        total",
       "range(0, columns - BLOCK + 1, BLOCK):\n        at = start + tl.arange(0, BLOCK)\n        total")], "out["),
    ("the maximum is not subtracted", SOFTMAX, [(" - top)", ")")], "out["),
    ("the result is made by the host", SOFTMAX,
     [(_SOFTMAX_BODY, "    pass\n"),
      ("out = np.empty_like(x)", "out = np.exp(x) / np.exp(x).sum(1, keepdims=True)")], "out[0]"),
    ("a cached result is given to the kernel", SOFTMAX,
     [("softmax(out, x, columns,", "softmax(out, x, cached, columns,"), ("(out, x, columns,", "(out, x, cached, columns,"),
      ("out = np.empty_like(x)", "out = np.empty_like(x)\n    cached = np.exp(x) / np.exp(x).sum(1, keepdims=True)"),
      (_SOFTMAX_BODY, "    at = tl.arange(0, BLOCK)\n    row = tl.program_id(0) * columns\n"
                      "    tl.store(out + row + at, tl.load(cached + row + at, mask=at < columns), mask=at < columns)\n"),
      ("BLOCK=64", "BLOCK=512")], "it is given cached, which the baseline is not"),
    ("equal inputs are not computed twice", SOFTMAX,
     [("    " + _SOFTMAX_LAUNCH, "    if columns == 200:\n        " + _SOFTMAX_LAUNCH),
      ("    assert", "    else:\n        out = np.exp(x) / np.exp(x).sum(1, keepdims=True)\n    assert")],
     "does not launch the kernel with columns=333"),
    ("right for the columns of the script alone", SOFTMAX,
     [(_SOFTMAX_BODY, _ONE_BLOCK.replace("at < columns", "at < tl.maximum(columns, 200)")), ("BLOCK=64", "BLOCK=512")], "columns="),
    ("sums of chunks without atomics", SUMS,
     [(_SUMS_BODY, _BY_CHUNKS + "    total += tl.load(out + column, mask=column < columns, other=0)\n"
                                "    tl.store(out + column, total, mask=column < columns)\n"), _CHUNK,
      ("(triton.cdiv(1000, 64),)", "(triton.cdiv(1000, 64), 4)"), ("BLOCK=64,", "BLOCK=64, CHUNK=16,")], ""),
    ("sums of 64 rows, however many there are", SUMS,
     [(_SUMS_BODY, _BY_CHUNKS.replace("(row[:, None] < rows) & ", "") + "    tl.store(out + column, total, mask=column < columns)\n"),
      _CHUNK, ("BLOCK=64,", "BLOCK=64, CHUNK=64,")], "rows=63"),
    ("sums lose their upper half", SUMS,
     [("total = tl.zeros((BLOCK,), tl.int32)", "total = tl.zeros((BLOCK,), tl.int16)"),
      ("other=0)\n", "other=0).to(tl.int16)\n")], "out["),
    ("the script fails in the end", SOFTMAX,
     [(_SOFTMAX_BODY, _ONE_BLOCK), ("BLOCK=64", "BLOCK=512"), ("    assert np.allclose", "assert not np.allclose")],
     "its script ends with status 1"),
    ("the code is not that of the source", SOFTMAX,
     [(_SOFTMAX_BODY, _ONE_BLOCK.replace("value / tl.sum(value, 0)", "value / tl.max(value, 0)")), ("BLOCK=64", "BLOCK=512"),
      ("\n\nfor columns", "\n\nsoftmax._unsafe_update_src(softmax.src.replace('value / tl.max(value, 0)', 'value / tl.sum(value, 0)'))"
                          "\nfor columns")],
     "its code does not compute what its source says"),
    ("its interpreter cannot begin", SOFTMAX,
     [(_SOFTMAX_BODY, _ONE_BLOCK), ("BLOCK=64", "BLOCK=512"), ("\n\nfor columns", "\n\nimport os\nos.fork = None\nfor columns")],
     "interpreter: it cannot be run"),
    ("slower than before", SOFTMAX, [("BLOCK=64", "BLOCK=32")], "slower"),
]  # fmt: skip

HONEST = [
    ("larger tiles", MATMUL, [*_LARGER]),
    ("tiles that are not square", MATMUL,
     [("triton.cdiv(M, 16), triton.cdiv(N, 16)", "triton.cdiv(M, 16), triton.cdiv(N, 32)"),
      ("BLOCK_N=16, BLOCK_K=16, num_warps=1", "BLOCK_N=32, BLOCK_K=64, num_warps=2")]),
    ("more of K at once", MATMUL, [("BLOCK_K=16", "BLOCK_K=128")]),
    ("masks before the loop", MATMUL,
     [*_LARGER, ("    total = tl.zeros", "    rows, columns = row[:, None] < M, column[None, :] < N\n    total = tl.zeros"),
      ("(row[:, None] < M) & (at", "rows & (at"), ("& (column[None, :] < N), other", "& columns, other")]),
    ("pointers that advance", MATMUL,
     [*_LARGER,
      ("    for k in range(0, K, BLOCK_K):\n        at = k + inner\n",
       "    left, right = a + row[:, None] * stride_am + inner[None, :], b + inner[:, None] * stride_bk + column[None, :]\n"
       "    for k in range(0, K, BLOCK_K):\n        at = k + inner\n"),
      ("tl.load(a + row[:, None] * stride_am + at[None, :],", "tl.load(left,"),
      ("tl.load(b + at[:, None] * stride_bk + column[None, :],", "tl.load(right,"),
      ("        total = tl.dot(x, y, total)\n",
       "        total = tl.dot(x, y, total)\n        left += BLOCK_K\n        right += BLOCK_K * stride_bk\n")]),
    ("a grid of one dimension", MATMUL,
     [*_LARGER, ("grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))", "grid = (triton.cdiv(M, 32) * triton.cdiv(N, 32),)"),
      ("tl.program_id(0) * BLOCK_M", "tl.program_id(0) // tl.cdiv(N, BLOCK_N) * BLOCK_M"),
      ("tl.program_id(1) * BLOCK_N", "tl.program_id(0) % tl.cdiv(N, BLOCK_N) * BLOCK_N")]),
    ("autotuned", MATMUL,
     [("@triton.jit", "@triton.autotune([triton.Config(dict(BLOCK_M=32, BLOCK_N=32, BLOCK_K=k)) for k in (64, 128)], key=['K'])\n"
                      "@triton.jit"),
      ("grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))",
       "grid = lambda meta: (triton.cdiv(M, meta['BLOCK_M']), triton.cdiv(N, meta['BLOCK_N']))"),
      (", BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, num_warps=1)", ")")]),
    ("one block of a row", SOFTMAX, [(_SOFTMAX_BODY, _ONE_BLOCK), ("BLOCK=64", "BLOCK=512")]),
    ("larger blocks", SOFTMAX, [("BLOCK=64", "BLOCK=512")]),
    ("maximum and sum at once", SOFTMAX,
     [(SOFTMAX[SOFTMAX.index("        top = tl.maximum") : SOFTMAX.index("        total += ")],
       "        value = tl.load(x + row + at, mask=at < columns, other=-float(\"inf\"))\n"
       "        higher = tl.maximum(top, tl.max(value, 0))\n"
       "        total = total * tl.exp(top - higher) + tl.sum(tl.exp(value - higher), 0)\n        top = higher\n"),
      ("    top = -float(\"inf\")\n", "    top = -float(\"inf\")\n    total = 0.0\n"),
      (SOFTMAX[SOFTMAX.index("        total += ") : SOFTMAX.index("    for start in range(0, columns, BLOCK):\n        at = start + "
       "tl.arange(0, BLOCK)\n        value = ")], "")]),
    ("chunks of rows with atomics", SUMS,
     [(_SUMS_BODY, "    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
                   "    total = tl.zeros((BLOCK,), tl.int32)\n"
                   "    for first in range(0, rows, CHUNK):\n"
                   "        row = first + tl.arange(0, CHUNK)\n"
                   "        inside = (row[:, None] < rows) & (column[None, :] < columns)\n"
                   "        total += tl.sum(tl.load(x + row[:, None] * columns + column[None, :], mask=inside, other=0), 0)\n"
                   "    tl.store(out + column, total, mask=column < columns)\n"),
      _CHUNK, ("BLOCK=64,", "BLOCK=64, CHUNK=16,")]),
    ("all rows at once", SUMS,
     [(_SUMS_BODY, "    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
                   "    row = tl.arange(0, CHUNK)\n"
                   "    inside = (row[:, None] < rows) & (column[None, :] < columns)\n"
                   "    total = tl.sum(tl.load(x + row[:, None] * columns + column[None, :], mask=inside, other=0), 0)\n"
                   "    tl.store(out + column, total, mask=column < columns)\n"),
      _CHUNK, ("(triton.cdiv(1000, 64),)", "(triton.cdiv(1000, 16),)"), ("BLOCK=64, num_warps=1", "BLOCK=16, CHUNK=64, num_warps=4")]),
]  # fmt: skip


def changed(script: str, replacements: list[tuple[str, str]]) -> str:
    for before, after in replacements:
        assert before in script, before
        script = script.replace(before, after)
    return script


def kernel_of(script: str) -> str:
    return script.partition("\ndef ")[2].partition("(")[0]
