"""Options of commands that accept a Triton function instead of a HIP program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from rocm_perf_lab.errors import UsageError

if TYPE_CHECKING:
    from rocm_perf_lab.optimize.backend import BackendOptions
    from rocm_perf_lab.triton_launches import ScriptKernel

python_option = click.option(
    "--python", default="python3", show_default=True, metavar="PYTHON", help="--triton: Python interpreter that has Triton."
)


def triton_option(use: str) -> Callable[..., Any]:
    """The option --triton. use: a verb that says what is done with the function."""
    return click.option(
        "--triton",
        "triton_kernel",
        metavar="SCRIPT::KERNEL",
        help=f"Triton function to {use}, as SCRIPT launches it; the words of PROGRAM are the script's arguments.",
    )


def script_kernel(
    name: str, arguments: Sequence[str], python: str, options: BackendOptions, hip_options: Sequence[object]
) -> ScriptKernel:
    """The function named SCRIPT::KERNEL. hip_options: the values of options that apply only to HIP programs.

    Raises UsageError, MissingInputError, UnavailableError.
    """
    from rocm_perf_lab.triton_launches import ScriptKernel

    if any(hip_options) or options.pattern or options.also or options.equivalence != "full":
        raise UsageError("--source, --build, --kernel, --also and --equivalence are not for --triton", "omit them")
    return ScriptKernel.of(name, arguments, python)
