"""Random operands that are likely to expose bugs: special values of every format among random bits."""

from __future__ import annotations

import numpy as np

SPECIAL16 = [0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x83FF, 0x3C00, 0xBC00, 0x3800, 0x3E00, 0x4000, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00,
             0x7E00, 0xFE12, 0x7C01, 0xFD00, 0x7FFF, 0xFFFF, 0x5BFF, 0x6400, 0x7800, 0x3C01, 0x37FF]  # fmt: skip
SPECIAL32 = [0, 0x80000000, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x80800000, 0x3F800000, 0xBF800000, 0x3F000000, 0xBF000000,
             0x3FC00000, 0x40200000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001,
             0xFFA00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x4F000000, 0xCF000000, 0x4F800000, 0x4EFFFFFF, 0x3EFFFFFF, 0x3F7FFFFF,
             0x4B000001, 0x477FE000, 0x477FF000, 0x33000000, 0x33000001, 0x387FFFFF, 0x0B800000, 0x7E800000]  # fmt: skip
SPECIAL64 = [0, 1 << 63, 1, 0x8000000000000001, 0xFFFFFFFFFFFFF, 0x10000000000000, 0x3FF0000000000000, 0xBFF0000000000000,
             0x3FE0000000000000, 0xBFE0000000000000, 0x3FF8000000000000, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF,
             0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0xFFF8123456789ABC, 0x7FF0000000000001,
             0xFFF4000000000000, (1 << 63) - 1, (1 << 64) - 1, 0x41DFFFFFFFC00000, 0x41E0000000000000, 0xC1E0000000000000,
             0x41EFFFFFFFE00000, 0x47EFFFFFEFFFFFFF, 0x47EFFFFFF0000000, 0x3690000000000000, 0x3690000000000001,
             0x4330000000000001, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFF00000000]  # fmt: skip
SMALL = [0, 1, 2, 3, 7, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000]
SPECIAL = {16: SPECIAL16, 32: SPECIAL32, 64: SPECIAL64}


def draw(random: np.random.Generator, shape, bits: int) -> np.ndarray:
    """`bits` (16, 32, 64) random bits per element (uint64): special values, small integers, near floats, or anything."""
    top = (1 << bits) - 1
    anything = random.integers(0, top, shape, np.uint64, endpoint=True)
    special = random.choice(np.array(SPECIAL[bits], np.uint64), shape)
    small = random.choice(np.array([s & top for s in SMALL] + [-s & top for s in SMALL], np.uint64), shape)
    near_one = near_floats(random, shape, bits)
    kind = random.integers(0, 10, shape)
    return np.select([kind < 3, kind < 5, kind < 8], [special, small, near_one], anything)


def near_floats(random: np.random.Generator, shape, bits: int) -> np.ndarray:
    """Floats with magnitudes around one, so that sums, products and comparisons of several of them are interesting."""
    scale = np.exp2(random.integers(-12, 12, shape))
    numbers = random.standard_normal(shape) * scale
    rounded = np.where(random.random(shape) < 0.3, np.rint(numbers * 2) / 2, numbers)
    kind = {16: np.float16, 32: np.float32, 64: np.float64}[bits]
    return rounded.astype(kind).view(f"u{bits // 8}").astype(np.uint64)


def draw_register_pairs(random: np.random.Generator, shape) -> np.ndarray:
    """64 bits for a register pair: a 64-bit value, or two 32-bit ones, or four 16-bit ones."""
    pair = draw(random, shape, 32) | draw(random, shape, 32) << np.uint64(32)
    quad = sum(draw(random, shape, 16) << np.uint64(16 * i) for i in range(4))
    kind = random.integers(0, 4, shape)
    return np.select([kind < 2, kind < 3], [draw(random, shape, 64), pair], quad)
