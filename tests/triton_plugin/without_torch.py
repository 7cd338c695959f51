"""Triton with NumPy's arrays, on the software device."""

import math

import numpy as np
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

SIZE = 1 << 16
CONFIGS = [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((64, 1), (1024, 4))]


@triton.autotune(configs=CONFIGS, key=["n"], reset_to_zero=["out"])
@triton.jit
def accumulate(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + at, tl.load(x + at, mask=at < n), mask=at < n)


x, out = np.arange(SIZE, dtype=np.float32), np.zeros(SIZE, np.float32)
accumulate[lambda meta: (triton.cdiv(SIZE, meta["BLOCK"]),)](out, x, SIZE)
times = accumulate.configs_timings
assert np.array_equal(out, x) and len(times) == len(CONFIGS)
assert accumulate.best_config is min(times, key=lambda config: times[config][0])


@triton.autotune(configs=CONFIGS, key=["n"], restore_value=["x"])
@triton.jit
def increment(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


increment[lambda meta: (triton.cdiv(SIZE, meta["BLOCK"]),)](x, SIZE)
assert np.array_equal(x, out + 1)
print("autotune")


@triton.jit
def double(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


first, second = (triton.testing.do_bench(lambda: double[(SIZE // 256,)](out, x, SIZE, BLOCK=256)) for _ in range(2))
assert first == second > 0 and math.isnan(triton.testing.do_bench(lambda: None))
print("benchmark")

kernel = double.warmup(out, x, SIZE, BLOCK=256, grid=(1,))
out[:] = 0
kernel[(1, 1, 1)](out, x, SIZE, 256)
assert np.array_equal(out[:256], 2 * x[:256]) and not out[256:].any()
print("warm-up")


@triton.jit
def transpose(out, source, N: tl.constexpr):
    out.store([0, 0], tl.trans(source.load([0, 0])))


class Matrix:
    """The part of a tensor's interface that a tensor descriptor needs."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape
        self.dtype = array.dtype
        self.base = array

    def data_ptr(self):
        return self.array.ctypes.data

    def stride(self):
        return [step // self.array.itemsize for step in self.array.strides]

    def untyped_storage(self):
        return self

    def nbytes(self):
        return self.array.nbytes


source = np.arange(1024, dtype=np.float32).reshape(32, 32)
turned = np.empty_like(source)
descriptors = [TensorDescriptor.from_tensor(Matrix(array), [32, 32]) for array in (turned, source)]
transpose[(1,)](*descriptors, N=32)
assert np.array_equal(turned, source.T)
print("descriptor")


class Exporter:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


double[(4,)](Exporter(out), Exporter(x), 1024, BLOCK=256)
assert np.array_equal(out[:1024], 2 * x[:1024])
print("dlpack")
