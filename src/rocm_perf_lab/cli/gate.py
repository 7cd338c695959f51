"""`rocm-perf gate`: judges a user's change to a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocm_perf_lab.cli.change_options import (
    also_option,
    build_option,
    cage_options,
    check_option,
    seed_option,
    ulps_option,
    with_backend_options,
)
from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.kernel_option import kernel_option
from rocm_perf_lab.cli.printed_verdict import print_verdict
from rocm_perf_lab.cli.program_arguments import ProgramCommand, complete_file
from rocm_perf_lab.cli.progress import note
from rocm_perf_lab.cli.triton_options import python_option
from rocm_perf_lab.errors import CandidateRejectedError, UsageError

if TYPE_CHECKING:
    from rocm_perf_lab.optimize.backend import BackendOptions
    from rocm_perf_lab.optimize.judge_user_candidate import Judgement

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(cls=ProgramCommand, sources=2)
@click.option("--triton", is_flag=True,
              help="BASELINE and CANDIDATE::KERNEL are Python scripts that launch a Triton kernel; ARGS "
                  "are their arguments.")  # fmt: skip
@python_option
@build_option
@kernel_option("Kernel to judge, if several instantiations of a template are launched", default="  [default: the changed one]")
@ulps_option
@check_option
@seed_option
@also_option
@click.option("--describe", metavar="TEXT", help="What was changed and why; recorded for `rocm-perf prompt`.")
@click.option("--runs", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Folder for the record made by --describe.  [default: ./<program>.rocm-perf-optimize]")  # fmt: skip
@click.option("--output", "-o", type=_FILE, metavar="FILE", help="File to write the accepted source to.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@cage_options
@with_backend_options
@debug_option
@click.argument("baseline", type=_FILE)
@click.argument("candidate", type=_FILE)
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[PROGRAM [ARGS]...]", shell_complete=complete_file)
def command(
    baseline: Path,
    candidate: Path,
    program: tuple[str, ...],
    triton: bool,
    python: str,
    build: str | None,
    describe: str | None,
    runs: Path | None,
    output: Path | None,
    as_json: bool,
    backend_options: BackendOptions,
) -> int:
    """Judge a change to one kernel: are the results the same, is it faster, and is nothing else changed?

    CANDIDATE is the source file BASELINE with one kernel changed (and its launches, and new device functions). Both are built
    like PROGRAM and run with ARGS; "PROGRAM ARGS" can be a single word. The sources are not modified. Exit code: 0 accepted,
    45 rejected.
    """
    if triton:
        if build or describe or runs or output:
            raise UsageError("--build, --describe, --runs and --output are not for --triton", "omit them")
        from rocm_perf_lab.cli.triton_gate import judge_and_print

        return judge_and_print(baseline, candidate, program, python, backend_options, as_json)
    from rocm_perf_lab.optimize.judge_user_candidate import GateRequest, judge

    judgement = judge(GateRequest(baseline, candidate, program, build, backend_options, describe, runs, output), note)
    if as_json:
        from rocm_perf_lab.json_model import json_text

        click.echo(json_text(judgement.document()))
    else:
        _describe(judgement)
    return 0 if judgement.verdict.accepted else CandidateRejectedError.exit_code


def _describe(judgement: Judgement) -> None:
    print_verdict(judgement.verdict, judgement.summary is not None and judgement.summary.timing == "modelled")
