"""The option --max-regression of every command that uses the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rocm_perf_lab.cli.parameter_type import ParamType
from rocm_perf_lab.errors import UsageError

if TYPE_CHECKING:
    from rocm_perf_lab.gate.regression_limits import RegressionLimits


class _Limits(ParamType["RegressionLimits"]):
    name = "limits"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> RegressionLimits:
        from rocm_perf_lab.gate.regression_limits import DEFAULTS, RegressionLimits

        if isinstance(value, RegressionLimits):
            return value
        try:
            return DEFAULTS.with_changes(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


regression_option = click.option(
    "--max-regression", type=_Limits(), metavar="NAME=FRACTION,...",
    help="Allowed regression of the other metrics, as fractions.  [default: "
        "runtime=0.05,vgpr=0.2,occupancy=0.15,lds=0.3,dram=0.1]",
)  # fmt: skip
