"""A second oracle: what Triton's interpreter computes from the source of a kernel, compared with what its code left in memory.

The interpreter runs in the process of the script, which is not believed: it can only speak against its own candidate.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rocm_perf_lab.gate.numbers import float_type
from rocm_perf_lab.gate.triton_kernel.launching_script import LaunchingScript
from rocm_perf_lab.gate.triton_kernel.recorded_launch import RecordedLaunch
from rocm_perf_lab.gate.triton_kernel.results import ResultsDiffer, expect_same_memory, nans_on

# NumPy's functions and sums differ from those of the GPU by this, by bytes of a number: relatively about 2e-4 for float32.
# The narrower types are rounded from float32.
_ULPS = {1: 1, 2: 4, 4: 2048, 8: 1 << 30}


def how_interpreted(
    script: LaunchingScript, launch: RecordedLaunch, files: Path, numbers: Mapping[str, int], left: Path, number: int,
    types: dict[str, str],
) -> ResultsDiffer | str | None:  # fmt: skip
    """Compare what launch `number` left in the folder `left` with the interpreter's results: None if they are the same, within
    what the interpreter's arithmetic differs by; a reason if it has none. Raises what LaunchingScript.interpret() raises.

    launch: with the contents that its memories had, in `files`.
    """
    try:
        outputs = script.interpret(numbers, {name: memory.contents for memory in launch.memories for name in memory.names})
        if isinstance(outputs, str):
            return outputs
        nans = nans_on(launch.memories, files, types)
        for index, memory in enumerate(launch.memories):
            own = next((outputs[name] for name in memory.names if name in outputs), None)
            if own is None or own.stat().st_size != memory.size:
                return f"{', '.join(memory.names) or 'a memory'} is not what the script launches the kernel with"
            ulps = _ulps(types.get(memory.names[0], ""))
            expect_same_memory(left / f"{number}-{index}", own, memory, files, types, ulps, nans)
    except ResultsDiffer as apart:
        return apart
    return None


def _ulps(kind: str) -> int:
    dtype = float_type(kind)
    return _ULPS[dtype.itemsize] if dtype is not None else 0
