"""The option --fail-on, which sets limits on changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rocm_perf_lab.cli.parameter_type import ParamType
from rocm_perf_lab.errors import UsageError

if TYPE_CHECKING:
    from rocm_perf_lab.comparison.limits import Limit


class _Limit(ParamType["Limit"]):
    name = "limit"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Limit:
        from rocm_perf_lab.comparison.limits import Limit

        if isinstance(value, Limit):
            return value
        try:
            return Limit.of(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


limit_option = click.option(
    "--fail-on", "limits", type=_Limit(), multiple=True, metavar="METRIC>CHANGE",
    help="Exit with code 54 if a change exceeds this: 'time>2%', 'kernel_time>50us', 'scratch>0', 'occupancy<0', "
    "'SQ_INSTS_VALU>10%'. METRIC is time, dispatches, path, vgprs, agprs, sgprs, lds, scratch or occupancy of any of the "
    "program's kernels, kernel_time or span of the program, or a counter. Measured times must exceed it beyond doubt. "
    "Repeatable.",
)  # fmt: skip
