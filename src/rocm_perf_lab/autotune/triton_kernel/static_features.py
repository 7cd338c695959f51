"""What a configuration's compiled code reveals before the configuration runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocm_perf_lab import code_object
from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.arch.occupancy import KernelResources
from rocm_perf_lab.autotune.launch import MAX_THREADS, max_lds_bytes
from rocm_perf_lab.errors import SourceError


@dataclass(frozen=True)
class StaticFeatures:
    """vgprs: per lane, including AGPRs. spills: VGPRs per lane that are spilled to memory. programs: number of programs in
    the grid. max_lds_bytes: the most LDS that a workgroup can use on the target.

    matrix_instructions: how many the code contains, no matter how often they run. occupancy: resident waves of a compute unit
    relative to the maximum, 0..1; None if the target's family is not known.
    """

    vgprs: int
    spills: int
    lds_bytes: int
    max_lds_bytes: int
    workgroup_size: int
    matrix_instructions: int
    programs: int
    occupancy: float | None

    def resources(self) -> dict[str, int]:
        names = ("vgprs", "spills", "lds_bytes", "workgroup_size", "matrix_instructions", "programs")
        return {name: getattr(self, name) for name in names}

    def coordinates(self) -> tuple[float, ...]:
        """Coordinates for models: logarithms of the counts, because their ratios matter, and the occupancy (0 if unknown)."""
        counts = (self.vgprs, self.spills, self.lds_bytes, self.matrix_instructions, self.programs)
        return (*(math.log2(1 + count) for count in counts), self.occupancy or 0.0)


def static_features(compiled: Mapping[str, Any], target: str | None) -> StaticFeatures:
    """compiled: a served script's answer to "compile". Raises SourceError for code without readable metadata."""
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
        max_lds_bytes=max_lds_bytes(family),
        workgroup_size=compiled["threads"],
        matrix_instructions=compiled["matrix_instructions"],
        programs=math.prod(compiled["programs"]),
        occupancy=family.occupancy(resources).fraction if family else None,
    )


def unlaunchable(features: StaticFeatures) -> str | None:
    """Why no compute unit can run the configuration; None if it can run."""
    if features.lds_bytes > features.max_lds_bytes:
        return f"{features.lds_bytes} bytes of LDS, but at most {features.max_lds_bytes} are possible"
    if features.workgroup_size > MAX_THREADS:
        return f"{features.workgroup_size} threads per workgroup, but at most {MAX_THREADS} are possible"
    if features.occupancy == 0:
        return "none of its workgroups fits on a compute unit"
    return None
