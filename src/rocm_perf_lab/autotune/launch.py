"""What is known about a configuration before anything runs: whether it can be launched, and its theoretical occupancy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.arch.family import Family
from rocm_perf_lab.arch.occupancy import KernelResources
from rocm_perf_lab.autotune.expression import Expression
from rocm_perf_lab.autotune.space import Rule, Space
from rocm_perf_lab.errors import SpaceError

if TYPE_CHECKING:
    from rocm_perf_lab.autotune.space_file import SpaceFile

MAX_THREADS = 1024  # per workgroup, on every GPU that HIP supports (hipDeviceProp_t::maxThreadsPerBlock)
_MAX_LDS_BYTES = 65536  # per workgroup, if the family is unknown


def max_lds_bytes(family: Family | None) -> int:
    """The largest amount of LDS that a workgroup can use."""
    return _MAX_LDS_BYTES if family is None else family.lds_bytes_per_workgroup


@dataclass(frozen=True)
class LaunchShape:
    """Expressions from a space file; None for any it does not contain. vgprs: per work-item, including accumulation VGPRs."""

    workgroup_size: Expression
    lds_bytes: Expression | None = None
    vgprs: Expression | None = None

    def names(self) -> frozenset[str]:
        expressions = (self.workgroup_size, self.lds_bytes, self.vgprs)
        return frozenset().union(*(expression.names for expression in expressions if expression))

    def can_run(self, values: Mapping[str, object], family: Family | None) -> bool:
        """Whether the hardware can run the configuration. If the family is None (unknown), only general limits are checked."""
        resources = self._resources(values)
        if not 1 <= resources.workgroup_size <= MAX_THREADS or not 0 <= resources.lds_bytes <= max_lds_bytes(family):
            return False
        return family is None or family.occupancy(resources).resident_waves_per_cu > 0

    def occupancy(self, values: Mapping[str, object], family: Family) -> float:
        """The occupancy (0..1) of a configuration that can run; registers do not limit it if the space file lacks `vgprs`."""
        return family.occupancy(self._resources(values)).fraction

    def _resources(self, values: Mapping[str, object]) -> KernelResources:
        threads, lds, vgprs = (
            0 if expression is None else _whole_number(expression, values)
            for expression in (self.workgroup_size, self.lds_bytes, self.vgprs)
        )
        return KernelResources(vgprs, 0, 0, lds, threads)


def _whole_number(expression: Expression, values: Mapping[str, object]) -> int:
    value = expression.value(values)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value):
        raise SpaceError(f"launch: {expression.text!r} is {value!r}, not a whole number", "use // to divide")
    return int(value)


def launchable_space(space_file: SpaceFile, target: str | None) -> tuple[Space, Callable[[Mapping[str, object]], float] | None]:
    """(the configurations that the target can run, a function from values to theoretical occupancy).

    Without `launch` in the space file, these are all configurations, and the function is None. It is also None if the target's
    family is not known.

    Raises SpaceError if no configuration can run.
    """
    launch, space = space_file.launch, space_file.space
    if launch is None:
        return space, None
    family = family_of(target) if target else None
    space = space.restricted(Rule(launch.names(), lambda values: launch.can_run(values, family)))
    if space.is_empty():
        raise SpaceError("no configuration can be launched, according to `launch` in the space file", "correct its expressions")
    if family is None:
        return space, None
    return space, lambda values: launch.occupancy(space_file.fixed | dict(values), family)
