"""--kernel REGEX: the same in every command, and validated before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from rocm_perf_lab.cli.parameter_type import ParamType

_Command = TypeVar("_Command", bound=Callable[..., Any] | click.Command)


class KernelPattern(ParamType[str]):
    """A regular expression for kernel names; see rocm_perf_lab.kernel_pattern."""

    name = "regex"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from rocm_perf_lab.errors import UsageError
        from rocm_perf_lab.kernel_pattern import checked

        try:
            return checked(value)
        except UsageError as error:
            self.fail(f"{error.problem}; {error.hint}", param, ctx)


def kernel_option(use: str, **more: Any) -> Callable[[_Command], _Command]:
    """The option --kernel for a command. use: what is done with the matching kernels, without a full stop."""
    text = f"{use}. REGEX is a Python regular expression, matched anywhere in the demangled or mangled name."
    return click.option("--kernel", "-k", type=KernelPattern(), metavar="REGEX", help=text + more.pop("default", ""), **more)
