"""Controls of ds_swizzle, and the lane that each lane reads."""

from __future__ import annotations

SWIZZLES = {
    "swizzle(QUAD_PERM,3,0,0,2)": lambda lane: lane & ~3 | (3, 0, 0, 2)[lane & 3],
    "swizzle(SWAP,16)": lambda lane: lane ^ 16,
    "swizzle(SWAP,1)": lambda lane: lane ^ 1,
    "swizzle(REVERSE,32)": lambda lane: lane ^ 31,
    "swizzle(REVERSE,8)": lambda lane: lane ^ 7,
    "swizzle(BROADCAST,8,5)": lambda lane: lane & ~7 | 5,
    "swizzle(BROADCAST,32,31)": lambda lane: lane | 31,
    'swizzle(BITMASK_PERM,"01pi0")': lambda lane: lane & 32 | (lane & 0b00110 ^ 0b00010 | 0b01000),
}


def rotated(by: int, mask: int):
    return lambda lane: lane & 32 | lane & mask | (lane + by) & 31 & ~mask


def reversed_bits(mask: int):
    """FFT: the five bits of each lane reversed, as in AMD's table (1-based there), except for the bits of the mask."""
    if mask == 31:
        return lambda lane: lane
    return lambda lane: lane & 32 | int(f"{lane & 31:05b}"[::-1], 2) >> mask.bit_count() | lane & mask


SWIZZLES |= {f"swizzle(ROTATE,{down},{by})": rotated(-by if down else by, 0) for down in (0, 1) for by in (1, 5, 31)}
SWIZZLES |= {f"swizzle(FFT,{mask})": reversed_bits(mask) for mask in (0, 1, 0x10, 0x13, 0x1F)}
SWIZZLES[f"{0xC000 | 3 << 5 | 0x18:#x}"] = rotated(3, 0x18)
SWIZZLES[f"{0xC400 | 3 << 5 | 0x10:#x}"] = rotated(-3, 0x10)
