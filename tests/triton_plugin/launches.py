"""Launches kernels of the code object given as an argument, through Triton's driver for the software device."""

import math
import sys
import types
from pathlib import Path

import numpy as np
from rocm_perf_triton import hip, standard_device
from rocm_perf_triton.clock import CLOCK
from rocm_perf_triton.host_arrays import as_argument
from rocm_perf_triton.launcher import Launcher

IMAGE = Path(sys.argv[1]).read_bytes()


def launch(name, signature, grid, *values, warps=1, **metadata):
    description = types.SimpleNamespace(
        name=name, num_warps=warps, warp_size=64, shared=0, launch_cooperative_grid=False, **metadata
    )
    launcher = Launcher(types.SimpleNamespace(signature=dict(enumerate(signature))), description)
    launcher(*grid, 0, hip.load(IMAGE, name)[1], None, None, None, None, *map(as_argument, values))


SCALARS = ("*fp64", "fp16", "bf16", "fp32", "fp64", "i8", "i16", "i32", "i64", "u8", "i1", "*fp32")
VALUES = (0.5, -1.5, math.pi, math.e, -3, -300, -70000, -(2**40), 200, True)
ADD = ("*fp32", "*fp32", "*fp32", "i32")

out = np.full(12, -1.0)
launch("arguments", SCALARS, (1, 1, 1), out, *VALUES, None)
assert out[:4].tolist() == [0.5, -1.5, np.float32(math.pi), math.e] and out[4:].tolist() == [*VALUES[4:], 1, 0], out
print("scalars")

# Both operands and the result are views of one array; elements that are not written keep their value.
numbers = np.arange(4000, dtype=np.float32)
before = numbers.copy()
launch("add", ADD, (4, 1, 1), numbers[3000:], numbers[10:], numbers[20:], 900, warps=4)
assert np.array_equal(numbers[3000:3900], before[10:910] + before[20:920])
assert np.array_equal(numbers[:3000], before[:3000]) and np.array_equal(numbers[3900:], before[3900:])
print("views")

constant = np.zeros(64, np.float32)
constant.flags.writeable = False
launch("add", ADD, (1, 1, 1), np.empty(64, np.float32), constant, constant, 64)
try:
    launch("add", ADD, (1, 1, 1), constant, numbers, numbers, 64)
except ValueError as error:
    assert "read-only" in str(error) and not constant.any()
    print("read-only")

launches = CLOCK.launches
launch("add", ADD, (0, 1, 1), numbers, numbers, numbers, 0)
assert CLOCK.launches == launches
print("nothing")

launch("arguments", SCALARS, (1, 1, 1), out, *VALUES, None, global_scratch_size=64)
assert out[11] == 7
print("scratch")

start, end = standard_device.Event(enable_timing=True), standard_device.Event(enable_timing=True)
times = []
for size in (1 << 20, 1 << 22):
    a = np.ones(size, np.float32)
    launch("add", ADD, (size // 256, 1, 1), np.empty_like(a), a, a, size, warps=4)
    start.record()
    launch("add", ADD, (size // 256, 1, 1), np.empty_like(a), a, a, size, warps=4)
    end.record()
    times.append(start.elapsed_time(end))
# 50 MB cannot be moved faster than the HBM allows.
assert times[1] > times[0] > 0 and times[1] > 3 * 4 * (1 << 22) / 5.3e12 * 1e3
print("benchmark")
