"""--max-regression, of every command that asks the gate."""

from __future__ import annotations

import click

from rocm_perf_lab.errors import UsageError


class _Limits(click.ParamType):
    name = "limits"

    def convert(self, value, param, ctx):
        from rocm_perf_lab.gate.regression import DEFAULTS

        if not isinstance(value, str):
            return value
        try:
            return DEFAULTS.changed(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


regression_option = click.option(
    "--max-regression", type=_Limits(), metavar="NAME=FRACTION,...",
    help="Allowed regression of the other metrics, as fractions.  [default: "
        "runtime=0.05,vgpr=0.2,occupancy=0.15,lds=0.3,dram=0.1]",
)  # fmt: skip
