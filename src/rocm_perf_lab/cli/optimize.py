"""`rocm-perf optimize`: keeps a change to a kernel only if tests confirm identical results and a speed-up."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rocm_perf_lab.cli.change_options import (
    accept_option,
    also_option,
    build_option,
    cage_options,
    check_option,
    in_place_option,
    resume_option,
    runs_folder_option,
    seed_option,
    source_option,
    ulps_option,
    with_backend_options,
)
from rocm_perf_lab.cli.consent import ask_whether_to_keep, keep_always
from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.duration import Duration
from rocm_perf_lab.cli.kernel_option import kernel_option
from rocm_perf_lab.cli.parameter_type import ParamType
from rocm_perf_lab.cli.program_arguments import ProgramCommand, program_argument
from rocm_perf_lab.cli.progress import note
from rocm_perf_lab.cli.triton_options import python_option, script_kernel, triton_option
from rocm_perf_lab.errors import MissingInputError, UsageError
from rocm_perf_lab.process.cores import available_cores

if TYPE_CHECKING:
    from rocm_perf_lab.optimize.backend import BackendOptions
    from rocm_perf_lab.optimize.optimize_document import EarlierRun

_MIN_FACTOR, _MAX_FACTOR = 2, 8
_MAX_WORKERS = 4


class _Factors(ParamType[tuple[int, ...]]):
    """Whole numbers from 2 to 8, separated by commas: 2,4,8."""

    name = "factors"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            factors = tuple(sorted({int(word) for word in value.split(",")}))
        except ValueError:
            self.fail(f"{value!r} is not a list of whole numbers such as 2,4,8", param, ctx)
        if not all(_MIN_FACTOR <= factor <= _MAX_FACTOR for factor in factors):
            self.fail(f"{value}: factors are from {_MIN_FACTOR} to {_MAX_FACTOR}", param, ctx)
        return factors


@click.command(cls=ProgramCommand, sources=None)
@triton_option("change")
@python_option
@source_option
@build_option
@kernel_option("Kernels to change, however little they could gain", default="  [default: ranked by what they could gain]")
@click.option(
    "--transforms", metavar="NAMES", help="Transformations to propose, separated by commas.  [default: all but nontemporal]"
)
@click.option("--factors", type=_Factors(), default="2,4,8", show_default=True, help="Unroll factors to propose, 2 to 8.")
@click.option(
    "--max-iters", type=click.IntRange(min=1), default=3, show_default=True, help="Maximum number of changes to accept."
)
@click.option(
    "--budget",
    type=Duration(),
    metavar="TIME",
    help="Start nothing new after this time, such as 90s, 10m or 2h; the result is what was accepted before.",
)
@click.option("--judge-again", is_flag=True, help="Judge even what an earlier run on the program rejected.")
@click.option("--workers", type=click.IntRange(1, 64), help="Proposals judged in parallel.  [default: one per core, at most 4]")
@ulps_option
@check_option
@seed_option
@also_option
@accept_option
@click.option("--auto-approve", "-y", is_flag=True, help="Without asking, keep what the gate accepts.")
@click.option("--dry-run", is_flag=True, help="Show proposals with their diffs; judge nothing and write no result.")
@in_place_option
@resume_option
@click.option("--history", is_flag=True, help="List the runs on this program and their results.")
@click.option(
    "--remeasure",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="RUN",
    help="Remeasure on a GPU what this run (a run-NNNN folder) accepted, and record the times next to the predictions.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@runs_folder_option
@cage_options
@with_backend_options
@debug_option
@program_argument
def command(
    program: tuple[str, ...],
    triton_kernel: str | None,
    python: str,
    source: Path | None,
    build: str | None,
    transforms: str | None,
    factors: tuple[int, ...],
    max_iters: int,
    budget: float | None,
    judge_again: bool,
    workers: int | None,
    auto_approve: bool,
    dry_run: bool,
    accept: str,
    in_place: bool,
    resume: bool,
    history: bool,
    remeasure: Path | None,
    as_json: bool,
    folder: Path | None,
    backend_options: BackendOptions,
) -> None:
    """Make a kernel of PROGRAM faster by known transformations of its source; keep only what the gate accepts.

    The source can be named first: SOURCE "PROGRAM ARGS"; with --triton, PROGRAM stands for the script's arguments. A change is
    kept only if its results are bit-identical (or within --ulps) on captured and on other inputs, its kernel is faster beyond
    the noise, and the output of the whole program is right.
    """
    from rocm_perf_lab.optimize.describe import describe
    from rocm_perf_lab.optimize.entry import OptimizeRequest, optimize
    from rocm_perf_lab.optimize.loop import OptimizeLoopOptions

    if history:
        _history(program, source, folder, as_json, triton_kernel)
        return
    if remeasure is not None:
        _remeasure(remeasure, program, as_json, backend_options)
        return
    if not (auto_approve or dry_run) and (as_json or not sys.stdin.isatty()):
        raise UsageError(
            "cannot ask whether to keep a change: --json is given, or standard input is not a terminal",
            "add --auto-approve or --dry-run",
        )
    approve = keep_always if auto_approve else ask_whether_to_keep
    loop = OptimizeLoopOptions(
        factors,
        _names(transforms, triton_kernel is not None),
        max_iters,
        in_place,
        dry_run,
        workers or _usual_workers(),
        accept == "modelled",
        backend_options.min_improvement,
        budget,
        judge_again,
    )
    if triton_kernel is not None:
        from rocm_perf_lab.optimize.triton.entry import TritonOptimizeRequest, optimize_function

        kernel = script_kernel(triton_kernel, program, python, backend_options, (source, build))
        outcome = optimize_function(TritonOptimizeRequest(kernel, folder, resume, backend_options, loop), approve, note)
    else:
        outcome = optimize(OptimizeRequest(program, source, build, folder, resume, backend_options, loop), approve, note)
    if as_json:
        from rocm_perf_lab.json_model import json_text

        click.echo(json_text(outcome.document()))
    else:
        describe(outcome, click.echo)


def _remeasure(run: Path, program: tuple[str, ...], as_json: bool, options: BackendOptions) -> None:
    from rocm_perf_lab.json_model import json_text
    from rocm_perf_lab.optimize.remeasure import remeasure
    from rocm_perf_lab.optimize.remeasure_words import lines_of_remeasurement

    if program:
        raise UsageError(f"{program[0]} cannot be combined with --remeasure", "omit the program: the run has recorded it")
    document = remeasure(run, options, note)
    click.echo(json_text(document) if as_json else "\n".join(lines_of_remeasurement(document)))


def _usual_workers() -> int:
    """The default number of workers; it is limited because each worker needs memory of its own."""
    return min(available_cores(), _MAX_WORKERS)


def _names(transforms: str | None, of_triton: bool) -> tuple[str, ...]:
    from rocm_perf_lab.optimize import transforms as of_hip
    from rocm_perf_lab.optimize.triton import transforms as of_functions

    known, usual = (of_functions if of_triton else of_hip).TRANSFORMS, (of_functions if of_triton else of_hip).DEFAULT
    names = tuple(dict.fromkeys(name.strip() for name in transforms.split(","))) if transforms is not None else usual
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"--transforms {unknown[0]!r}: there is no such transformation", f"use one of {', '.join(known)}")
    return names


def _history(
    program: tuple[str, ...], source: Path | None, folder: Path | None, as_json: bool, triton_kernel: str | None
) -> None:
    from rocm_perf_lab.optimize.build_target import program_of
    from rocm_perf_lab.optimize.open_run import folder_of
    from rocm_perf_lab.optimize.run_folder import history

    script = Path(triton_kernel.rpartition("::")[0]) if triton_kernel is not None else None
    if folder is None and not program and script is None:
        raise UsageError("no program given", "name it, or the folder of its runs with --output")
    runs_folder = folder or folder_of(None, (script or program_of(program, source)[0]).name)
    runs = history(runs_folder)
    if as_json:
        from rocm_perf_lab.json_model import json_text

        click.echo(json_text(runs))
        return
    if not runs.root:
        raise MissingInputError(f"{runs_folder} has no runs", "start one with `rocm-perf optimize`")
    for entry in runs.root:
        click.echo(f"{entry.run}  {f'began {entry.began}' if entry.began else 'not begun'}  {_how_it_ended(entry)}")
        for description in entry.accepted:
            click.echo(f"    accepted: {description}")


def _how_it_ended(entry: EarlierRun) -> str:
    if not entry.ended:
        return f"interrupted after {entry.judged} verdicts (continue with --resume)"
    stop = f"; {entry.stop}" if entry.stop else ""
    if not entry.accepted:
        return f"none of {entry.judged} judged proposals accepted{stop}"
    return f"{entry.baseline_ms:.6f} -> {entry.final_ms:.6f} ms ({entry.timing}){stop}"
