"""States of a wave, and running batches of cases in the probe."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
from assemble import Code

LANES = 64
SGPRS = 128
VCC, M0, EXEC = 106, 124, 126
ALL_LANES = 2**64 - 1
CODE_ADDRESS = 0x10000
MEMORY_ADDRESS = 0x100000000 - 0x1000  # the memory of a case crosses 4 GiB
# The mode in which hipcc's kernels start: denormals kept, DX10_CLAMP, IEEE.
DEFAULT_MODE = 0x3F0
IEEE = 1 << 9
DX10_CLAMP = 1 << 8


class Batch:
    """Cases that run one after the other, each from its own state.

    `input` and the result of `run` are structured arrays with one row per case: sgpr [128], vgpr [register, lane],
    agpr [register, lane], lds, scratch [lane, byte], memory; input also has entry, mode, scc; the result has faulted,
    scc, mode, executed (instructions), fault (text).
    """

    def __init__(self, code: Code, count: int, vgprs: int = 8, agprs: int = 0, lds: int = 0, scratch: int = 0, memory: int = 0):
        self.code = code
        self.sizes = (vgprs, agprs, lds, scratch, memory)
        state = [
            ("sgpr", "<u4", SGPRS),
            ("vgpr", "<u4", (vgprs, LANES)),
            ("agpr", "<u4", (agprs, LANES)),
            ("lds", "u1", lds),
            ("scratch", "u1", (LANES, scratch)),
            ("memory", "u1", memory),
        ]
        state = [part for part in state if np.prod(part[2])]
        self.input = np.zeros(count, [("entry", "<u4"), ("mode", "<u4"), ("scc", "<u4"), *state])
        self.input["mode"] = DEFAULT_MODE
        self._result_type = np.dtype(
            [("faulted", "<u4"), ("scc", "<u4"), ("mode", "<u4"), ("executed", "<u4"), ("fault", "S256"), *state]
        )
        set_scalar64(self.input, EXEC, ALL_LANES)

    def run(self, probe: Path, command: str = "run", target: str = "gfx942") -> np.ndarray:
        header = np.array([len(self.code.code), len(self.input), *self.sizes], "<u4")
        data = header.tobytes() + self.code.code + self.input.tobytes()
        result = subprocess.run([probe, command, target], input=data, capture_output=True)
        assert result.returncode == 0, result.stderr.decode()
        return np.frombuffer(result.stdout, self._result_type)


def set_scalar64(states: np.ndarray, register: int, value) -> None:
    value = np.asarray(value, np.uint64)
    states["sgpr"][:, register] = value & np.uint64(0xFFFFFFFF)
    states["sgpr"][:, register + 1] = value >> np.uint64(32)


def scalar64(states: np.ndarray, register: int) -> np.ndarray:
    return states["sgpr"][..., register].astype(np.uint64) | states["sgpr"][..., register + 1].astype(np.uint64) << np.uint64(
        32
    )


def lanes_of(mask: int) -> np.ndarray:
    """[64] booleans."""
    return (np.uint64(mask) >> np.arange(LANES, dtype=np.uint64) & np.uint64(1)).astype(bool)


def mask_of(lanes: np.ndarray) -> int:
    return int(np.sum(np.asarray(lanes, np.uint64) << np.arange(LANES, dtype=np.uint64)))
