"""A second oracle: the results that Triton's interpreter computes from a kernel's source are compared with what the compiled
kernel left in memory.

The interpreter runs in the script's process, which is not trusted, so its results can only count against that script's
candidate.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rocm_perf_lab.gate.equivalence.numbers import float_type
from rocm_perf_lab.gate.triton_kernel.launching_script import LaunchingScript
from rocm_perf_lab.gate.triton_kernel.recorded_launch import RecordedLaunch
from rocm_perf_lab.gate.triton_kernel.results import ResultsDifferError, expect_same_memory, nans_on

# How far NumPy's functions and sums may differ from the GPU's, in ULP, keyed by the size of a number in bytes: for float32,
# this is a relative error of about 2e-4. In narrower types, results are rounded from float32.
_ULPS_BY_SIZE = {1: 1, 2: 4, 4: 2048, 8: 1 << 30}


def difference_from_interpreter(
    script: LaunchingScript, launch: RecordedLaunch, files: Path, numbers: Mapping[str, int], left: Path, number: int,
    types: dict[str, str],
) -> ResultsDifferError | str | None:  # fmt: skip
    """Compare the results of launch `number`, which are in the folder `left`, with the interpreter's. Returns None if they are
    equal to within the error of the interpreter's arithmetic, a ResultsDifferError if they are not, or a str that says why the
    interpreter has no results. Raises the same errors as LaunchingScript.interpret().

    launch: launch `number` as recorded; `files` is the folder with the initial contents of its arrays.
    """
    try:
        outputs = script.interpret(numbers, {name: memory.contents for memory in launch.buffers for name in memory.names})
        if isinstance(outputs, str):
            return outputs
        nans = nans_on(launch.buffers, files, types)
        for index, memory in enumerate(launch.buffers):
            own = next((outputs[name] for name in memory.names if name in outputs), None)
            if own is None or own.stat().st_size != memory.size:
                return f"{', '.join(memory.names) or 'a buffer'} is not what the script launches the kernel with"
            ulps = _tolerated_ulps(types.get(memory.names[0], ""))
            expect_same_memory(left / f"{number}-{index}", own, memory, files, types, ulps, nans)
    except ResultsDifferError as difference:
        return difference
    return None


def _tolerated_ulps(kind: str) -> int:
    dtype = float_type(kind)
    return _ULPS_BY_SIZE[dtype.itemsize] if dtype is not None else 0
