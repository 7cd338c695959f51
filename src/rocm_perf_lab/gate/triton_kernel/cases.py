"""The cases that both kernels run on: a launch as the script made it, with other memory contents, and with other numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rocm_perf_lab.gate.triton_kernel.inputs import INPUTS, InputGenerator, random_values, replace_numbers, store_contents
from rocm_perf_lab.gate.triton_kernel.recorded_launch import RecordedLaunch

CAPTURED, RANDOM = "captured inputs", "random"
_STRIDE = "stride"


@dataclass(frozen=True)
class ProblemSize:
    """numbers: values that replace those of the launch; empty to leave the launch as it is. interpreted: whether Triton's
    interpreter also runs the launch at this size.
    """

    name: str
    numbers: Mapping[str, int]
    interpreted: bool = False


def sizes(numbers: Mapping[str, int], generator: np.random.Generator) -> Iterator[ProblemSize]:
    """The launch's own sizes, and smaller ones, for which the arrays are large enough. Strides (judged by name) are kept."""
    varied = {name: value for name, value in numbers.items() if _STRIDE not in name.lower()}
    yield ProblemSize("as launched", {}, interpreted=not varied)
    if not varied:
        return
    for name, value in varied.items():
        yield ProblemSize(f"{name}={value - 1}", {name: value - 1})
    for draw in range(2):
        drawn = {name: int(generator.integers(max(1, value // 3), value)) | 1 for name, value in varied.items()}
        drawn = {name: min(value, varied[name]) for name, value in drawn.items()}
        yield ProblemSize(", ".join(f"{name}={value}" for name, value in drawn.items()), drawn, interpreted=draw == 0)
    yield ProblemSize("every number 1", dict.fromkeys(varied, 1))


def inputs_for(size: ProblemSize) -> Mapping[str, InputGenerator | None]:
    """The inputs for a size, by name; None stands for the contents that the script provided."""
    return {CAPTURED: None, **INPUTS} if not size.numbers else {RANDOM: random_values}


def with_contents(
    launch: RecordedLaunch, make: InputGenerator | None, types: Mapping[str, str], files: Path, generator: np.random.Generator
) -> RecordedLaunch:
    """The launch with other contents in all its arrays, including those for results; unchanged if `make` is None."""
    if make is None:
        return launch
    buffers = [
        memory.model_copy(
            update={
                "contents": store_contents(
                    replace_numbers((files / memory.contents).read_bytes(), _number_type(memory.names, types), make, generator),
                    files,
                )
            }
        )
        for memory in launch.buffers
    ]
    return launch.model_copy(update={"buffers": buffers})


def _number_type(names: list[str], types: Mapping[str, str]) -> str | None:
    return types.get(names[0]) if names else None
