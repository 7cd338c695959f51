"""Options of the commands that change a program's kernel or judge a change, with the same names and meanings everywhere."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rocm_perf_lab.cli.number import FiniteNumber
from rocm_perf_lab.cli.program_arguments import device_option
from rocm_perf_lab.cli.regression_option import regression_option
from rocm_perf_lab.errors import MissingInputError, UsageError

if TYPE_CHECKING:
    from rocm_perf_lab.gate.regression_limits import RegressionLimits

source_option = click.option(
    "--source",
    "-s",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="HIP source of the program.  [default: found automatically]",
)
build_option = click.option(
    "--build",
    metavar="CMD|FOLDER",
    help="Build of the program: compiler commands (SOURCE and BINARY stand for the two files), `make ...`, or a CMake "
    "build folder. No shell is used.  [default: found near the program, else `hipcc -O3 SOURCE -o BINARY`]",
)
min_improvement_option = click.option(
    "--min-improvement",
    type=FiniteNumber(0, 1, max_open=True),
    default=0.02,
    show_default=True,
    metavar="FRACTION",
    help="Minimum share of the kernel's time that a change must save (lower confidence bound).",
)
equivalence_option = click.option(
    "--equivalence",
    type=click.Choice(("full", "sampled", "program")),
    default="full",
    show_default=True,
    help="Strictness of the comparison of results. full: replays of up to three dispatches, with captured and other inputs; "
    "sampled: replays of one dispatch, with fewer inputs; program: only the output of the whole program.",
)
ulps_option = click.option(
    "--ulps",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Allowed difference between floating-point results, in units in the last place; 0: the same bits, except for NaNs.",
)
check_option = click.option(
    "--check",
    metavar="CMD",
    help="Command that reads the program's output and fails if it is wrong; it replaces the comparison with the "
    "baseline's output.",
)
seed_option = click.option(
    "--seed",
    type=click.IntRange(0, (1 << 32) - 1),
    metavar="N",
    help="Random seed of the gate, to repeat a judgement.  [default: a new one each time]",
)
accept_option = click.option(
    "--accept",
    type=click.Choice(("sure", "modelled")),
    default="sure",
    show_default=True,
    help="Modelled gains to accept. sure: gains larger than the timing model's error for differences; other changes are kept "
    "as files, for a GPU to decide. modelled: all gains that the model shows.",
)
also_option = click.option(
    "--also",
    multiple=True,
    metavar="'PROGRAM ARGS'",
    help="Further arguments with which results must stay right; the gain counts only with the program's own. Repeatable.",
)
in_place_option = click.option(
    "--in-place",
    is_flag=True,
    help="Change the source itself, after backing it up.  [default: write <source>.optimized.<ext> and a patch]",
)
resume_option = click.option("--resume", is_flag=True, help="Resume the newest run, if it was interrupted.")
runs_folder_option = click.option(
    "--output",
    "-o",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder for the runs and their journals.  [default: ./<program>.rocm-perf-optimize]",
)
readable_option = click.option(
    "--readable",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Additional file or folder that candidates and their builds may read. Repeatable.",
)
keep_env_option = click.option(
    "--keep-env",
    multiple=True,
    metavar="NAME",
    help="Additional environment variable to pass on to candidates and their builds. Repeatable.",
)
trust_option = click.option(
    "--trust-candidates",
    is_flag=True,
    help="Build and run candidates without a cage: they can then do everything that you can.",
)
timeout_option = click.option(
    "--timeout",
    type=FiniteNumber(min=0, min_open=True),
    metavar="SECONDS",
    help="Timeout per run of the program.",
)


def with_backend_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of every command that uses the gate or shows its rules.

    The command receives them as `backend_options`, together with its own --kernel, --check, --ulps, --seed and --also.
    """

    @functools.wraps(command)
    def gathered(
        *,
        kernel: str | None,
        min_improvement: float,
        equivalence: str,
        device: str,
        timeout: float | None,
        max_regression: RegressionLimits | None,
        readable: tuple[Path, ...] = (),
        keep_env: tuple[str, ...] = (),
        trust_candidates: bool = False,
        check: str | None = None,
        ulps: int = 0,
        seed: int | None = None,
        also: tuple[str, ...] = (),
        **own_options: Any,
    ) -> Any:
        from rocm_perf_lab.cage import View
        from rocm_perf_lab.optimize.backend import BackendOptions

        checker = _words(check)
        view = View(tuple(map(_existing_path, readable)), keep_env=tuple(map(_variable, keep_env)), trusted=trust_candidates)
        backend_options = BackendOptions(
            kernel, min_improvement, equivalence, checker, device, timeout, ulps, max_regression, view
        )
        backend_options = replace(backend_options, seed=seed, also=tuple(_split_words("--also", value) for value in also))
        return command(backend_options=backend_options, **own_options)

    for option in (device_option, timeout_option, regression_option, equivalence_option, min_improvement_option):
        gathered = option(gathered)
    return gathered


def cage_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of commands that run candidates; the command receives them in `backend_options`."""
    for option in (trust_option, keep_env_option, readable_option):
        command = option(command)
    return command


def _words(check: str | None) -> tuple[str, ...]:
    """The words of --check. Its program is looked up now, since it runs only after everything has been built."""
    from rocm_perf_lab.collect.command import resolve

    words = _split_words("--check", check or "")
    if words:
        resolve([words[0], ""])
    return words


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise UsageError(f"--keep-env {name!r} is not the name of a variable", "name it without its value")
    return name


def _existing_path(path: Path) -> Path:
    if not path.exists():
        raise MissingInputError(f"--readable {path} does not exist", "check the path")
    return path.absolute()


def _split_words(option: str, text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"cannot split {option} {text!r} into words ({error})", "balance its quotes") from error
