"""What the compiled code of a configuration reveals before it runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocm_perf_lab import code_object
from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.arch.occupancy import KernelResources
from rocm_perf_lab.autotune.launch import MOST_THREADS, most_lds_bytes
from rocm_perf_lab.errors import SourceError


@dataclass(frozen=True)
class StaticFeatures:
    """vgprs: those of a lane, AGPRs included. spills: registers of a lane kept in memory. programs: those of the whole grid.
    most_lds_bytes: the most that a workgroup can have on the target.

    matrix_instructions: their number in the code, however often they run. occupancy: resident waves of a compute unit, 0..1;
    None if the target's family is not known.
    """

    vgprs: int
    spills: int
    lds_bytes: int
    most_lds_bytes: int
    workgroup_size: int
    matrix_instructions: int
    programs: int
    occupancy: float | None

    def resources(self) -> dict[str, int]:
        names = ("vgprs", "spills", "lds_bytes", "workgroup_size", "matrix_instructions", "programs")
        return {name: getattr(self, name) for name in names}

    def coordinates(self) -> tuple[float, ...]:
        """For models: logarithms of the numbers, since their ratios are what matters."""
        counts = (self.vgprs, self.spills, self.lds_bytes, self.matrix_instructions, self.programs)
        return (*(math.log2(1 + count) for count in counts), self.occupancy or 0.0)


def static_features(compiled: Mapping[str, Any], target: str | None) -> StaticFeatures:
    """compiled: the answer of a served script to "compile". Raises SourceError for code without readable metadata."""
    kernels = code_object.parse(Path(compiled["binary"]).read_bytes()).kernels
    kernel = next(iter(kernels.values()), None)
    if kernel is None:
        raise SourceError(f"{compiled['binary']} holds no kernel", "build it again")
    resources = KernelResources(
        kernel.vgprs - kernel.agprs, kernel.agprs, kernel.sgprs, compiled["shared"], compiled["threads"]
    )
    family = family_of(target) if target else None
    return StaticFeatures(
        vgprs=kernel.vgprs,
        spills=kernel.vgpr_spills,
        lds_bytes=compiled["shared"],
        most_lds_bytes=most_lds_bytes(family),
        workgroup_size=compiled["threads"],
        matrix_instructions=compiled["matrix_instructions"],
        programs=math.prod(compiled["programs"]),
        occupancy=family.occupancy(resources).fraction if family else None,
    )


def unlaunchable(features: StaticFeatures) -> str | None:
    """Why no compute unit can run the configuration; None if one can."""
    if features.lds_bytes > features.most_lds_bytes:
        return f"{features.lds_bytes} bytes of LDS, of at most {features.most_lds_bytes}"
    if features.workgroup_size > MOST_THREADS:
        return f"{features.workgroup_size} threads of a workgroup, of at most {MOST_THREADS}"
    if features.occupancy == 0:
        return "no workgroup of it fits on a compute unit"
    return None
