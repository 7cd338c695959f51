"""`rocm-perf llm-optimize`: a language model proposes kernels, and the gate decides."""

from __future__ import annotations

import math
import os
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
from rocm_perf_lab.cli.consent import Consent, ask_whether_to_keep, keep_always
from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.kernel_option import kernel_option
from rocm_perf_lab.cli.number import FiniteNumber
from rocm_perf_lab.cli.parameter_type import ParamType
from rocm_perf_lab.cli.program_arguments import ProgramCommand, program_argument
from rocm_perf_lab.cli.progress import note
from rocm_perf_lab.cli.triton_options import python_option, script_kernel, triton_option
from rocm_perf_lab.errors import UnusableAnswersError, UsageError
from rocm_perf_lab.llm.providers import PROVIDERS

if TYPE_CHECKING:
    from rocm_perf_lab.llm.result import LlmOptimizeResult
    from rocm_perf_lab.optimize.backend import BackendOptions

_POSITIVE = FiniteNumber(min=0, min_open=True)


class _Prices(ParamType[tuple[float, float]]):
    """US dollars per million input tokens and per million output tokens, separated by a comma: 3,15."""

    name = "prices"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float]:
        try:
            of_input, of_output = (float(word) for word in value.split(","))
        except ValueError:
            of_input = of_output = math.nan
        if not all(0 <= price < 1e6 for price in (of_input, of_output)):
            self.fail(f"{value!r} is not two prices such as 3,15", param, ctx)
        return of_input, of_output


@click.command(cls=ProgramCommand, sources=None)
@triton_option("change")
@python_option
@source_option
@build_option
@click.option("--model", "-m", metavar="NAME", envvar="ROCM_PERF_MODEL",
              help="Model to ask; with --provider command, a program and its arguments.  [default: "
                  "$ROCM_PERF_MODEL]")  # fmt: skip
@click.option(
    "--provider", type=click.Choice(tuple(PROVIDERS)), default="openai", show_default=True, envvar="ROCM_PERF_PROVIDER",
    help=f"API of the model. {'; '.join(f'{name}: {provider.help}' for name, provider in PROVIDERS.items())}.",
)  # fmt: skip
@click.option("--base-url", metavar="URL", help="Base URL of the server, e.g. http://localhost:8000/v1.  [default: hosted API]")
@click.option("--temperature", type=FiniteNumber(0, 2), default=0.2, show_default=True, help="Sampling temperature.")
@click.option(
    "--max-tokens", type=click.IntRange(min=1), default=16384, show_default=True, help="Maximum output tokens per answer."
)
@click.option("--model-timeout", type=_POSITIVE, default=600.0, show_default=True, metavar="SECONDS",
              help="Timeout for one complete answer.")  # fmt: skip
@click.option(
    "--max-cost", type=_POSITIVE, metavar="DOLLARS", help="Budget: a question is not sent if it could cost more than is left."
)
@click.option("--price", type=_Prices(), metavar="INPUT,OUTPUT",
              help="US dollars per million input and output tokens.  [default: listed prices of the hosted "
                  "services]")  # fmt: skip
@kernel_option("Kernels to change, in turn", default="  [default: the dominant one, else the top three]")
@click.option("--max-iters", type=click.IntRange(min=1), default=3, show_default=True,
              help="Maximum number of candidate rounds; each round is about one kernel.")  # fmt: skip
@click.option("--candidates", type=click.IntRange(1, 64), default=1, show_default=True, help="Candidates per round.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True,
              help="Candidates to request, build and judge in parallel.")  # fmt: skip
@check_option
@seed_option
@also_option
@accept_option
@ulps_option
@click.option("--full-source", is_flag=True, help="Send the whole source file instead of the kernel and what it uses.")
@click.option("--auto-approve", "-y", is_flag=True, help="Without asking, send questions and keep what the gate accepts.")
@click.option("--dry-run", is_flag=True, help="Show the first question; send nothing.")
@in_place_option
@resume_option
@click.option("--replay-journal", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="RUN",
              help="Repeat a run from its journal: nothing is sent, built or written.")  # fmt: skip
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
    model: str | None,
    provider: str,
    base_url: str | None,
    temperature: float,
    max_tokens: int,
    model_timeout: float,
    max_cost: float | None,
    price: tuple[float, float] | None,
    max_iters: int,
    candidates: int,
    workers: int,
    full_source: bool,
    auto_approve: bool,
    dry_run: bool,
    accept: str,
    in_place: bool,
    resume: bool,
    replay_journal: Path | None,
    as_json: bool,
    folder: Path | None,
    backend_options: BackendOptions,
) -> None:
    """Let a language model rewrite a kernel of PROGRAM; keep only what the gate accepts.

    The source can be named first: SOURCE "PROGRAM ARGS"; with --triton, PROGRAM stands for the script's arguments. API keys are
    read only from OPENAI_API_KEY and ANTHROPIC_API_KEY. Every question is shown and must be confirmed before it is sent, unless
    --auto-approve is given.
    """
    if replay_journal is not None:
        from rocm_perf_lab.llm.journal_replay import replay_journal as replay

        report(replay(replay_journal, note), as_json)
        return
    from rocm_perf_lab.llm.api_keys import take_keys
    from rocm_perf_lab.llm.entry import LlmRequest, llm_optimize
    from rocm_perf_lab.llm.loop import LlmLoopOptions
    from rocm_perf_lab.llm.providers import ModelOptions

    if model is None:
        raise UsageError("no model given", "name one with --model NAME, or permanently with ROCM_PERF_MODEL=NAME")
    if not (auto_approve or dry_run) and (as_json or not sys.stdin.isatty()):
        raise UsageError(
            "cannot ask whether to send a question: --json is given, or standard input is not a terminal",
            "add --auto-approve or --dry-run",
        )
    kernel = None
    if triton_kernel is not None:
        kernel = script_kernel(triton_kernel, program, python, backend_options, (source, build))
    keys = take_keys(os.environ)
    request = LlmRequest(
        command=program,
        model=ModelOptions(provider, model, base_url, temperature, max_tokens, model_timeout, price, max_cost),
        source=source,
        build=build,
        folder=folder,
        resume=resume,
        in_place=in_place,
        accept_modelled=accept == "modelled",
        full_source=full_source,
        backend_options=backend_options,
        loop=LlmLoopOptions(
            max_iters, candidates, workers, chosen=bool(backend_options.pattern or kernel), ulps=backend_options.ulps
        ),
    )
    consent = Consent(auto_approve, dry_run)
    approve = keep_always if auto_approve else ask_whether_to_keep
    if kernel is not None:
        from rocm_perf_lab.llm.triton.entry import llm_optimize_function

        report(llm_optimize_function(kernel, request, keys, os.environ, approve, consent, note), as_json)
    else:
        report(llm_optimize(request, keys, os.environ, approve, consent, note), as_json)


def report(outcome: LlmOptimizeResult, as_json: bool) -> None:
    """Print the result, then raise UnusableAnswersError if there were answers but none could be judged."""
    from rocm_perf_lab.llm.describe import describe

    if as_json:
        from rocm_perf_lab.json_model import json_text

        click.echo(json_text(outcome.document()))
    else:
        describe(outcome, click.echo)
    if outcome.unusable:
        last = outcome.attempts[-1]
        raise UnusableAnswersError(
            f"none of {len(outcome.attempts)} answers could be judged; the last: {last.step}: {last.reason}",
            "try another --model",
        )
