"""Limits on how much worse a candidate may be in any respect other than its kernel's time."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace

from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.gate.application.application_check import ApplicationOptions
from rocm_perf_lab.gate.code_object.code_object_check import ResourceLimits


@dataclass(frozen=True)
class RegressionLimits:
    """Largest allowed regressions, as fractions of the baseline's value.

    runtime: growth of the time that the whole program spends in kernels. vgpr, lds: growth, counted only if occupancy falls.
    occupancy: loss of waves per CU. dram: growth of the bytes moved beyond L2, counted only if the program is no faster.
    """

    runtime: float = ApplicationOptions.runtime
    vgpr: float = ResourceLimits.vgprs
    occupancy: float = ResourceLimits.occupancy
    lds: float = ResourceLimits.lds
    dram: float = ApplicationOptions.dram_bytes

    @property
    def resources(self) -> ResourceLimits:
        return ResourceLimits(vgprs=self.vgpr, occupancy=self.occupancy, lds=self.lds)

    def document(self) -> dict[str, float]:
        return asdict(self)

    def with_changes(self, text: str) -> RegressionLimits:
        """These limits with some of them replaced.

        text: "vgpr=0.5,occupancy=0.2". Raises a UsageError that names the invalid part.
        """
        names = [field.name for field in fields(self)]
        limits = self
        for part in text.split(","):
            name, _, number = part.partition("=")
            try:
                value = float(number)
            except ValueError:
                value = -1.0
            if name.strip() not in names or not 0 <= value < float("inf"):
                raise UsageError(f"{part!r} is not a limit", f"write NAME=FRACTION with one of {', '.join(names)}")
            limits = replace(limits, **{name.strip(): value})
        return limits


DEFAULTS = RegressionLimits()
