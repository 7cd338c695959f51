"""`rocm-perf prompt`: writes everything known about the most important kernel as one text, for a model or a person."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocm_perf_lab.cli.change_options import (
    build_option,
    source_option,
    ulps_option,
    with_backend_options,
)
from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.kernel_option import kernel_option
from rocm_perf_lab.cli.program_arguments import ProgramCommand, program_argument
from rocm_perf_lab.cli.progress import note
from rocm_perf_lab.cli.triton_options import python_option, triton_option
from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.utf8 import utf8

if TYPE_CHECKING:
    from rocm_perf_lab.optimize.backend import BackendOptions
    from rocm_perf_lab.prompt.context import Context

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(cls=ProgramCommand, sources=None)
@source_option
@build_option
@kernel_option("Kernel to describe", default="  [default: the dominant one, else the one with the most to gain]")
@click.option("--profile", type=_FOLDER, metavar="DIR", help="Run directory to read, instead of building and profiling.")
@triton_option("describe")
@python_option
@click.option("--runs", type=_FOLDER, metavar="DIR",
              help="Folder with the journals of earlier proposals.  [default: ./<program>.rocm-perf-optimize]")  # fmt: skip
@click.option("--full-source", is_flag=True, help="Include the whole source file instead of the kernel and what it uses.")
@click.option("--compact", is_flag=True, help="Include only the verdict, the hottest lines, the kernel and the rules.")
@ulps_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: the text and the pieces it is made of.")
@with_backend_options
@debug_option
@program_argument
def command(
    program: tuple[str, ...],
    source: Path | None,
    build: str | None,
    profile: Path | None,
    triton_kernel: str | None,
    python: str,
    runs: Path | None,
    full_source: bool,
    compact: bool,
    as_json: bool,
    backend_options: BackendOptions,
) -> None:
    """Write everything that is known about PROGRAM's most important kernel, as a prompt for a model or a person.

    No model is called. The source can be named first: SOURCE "PROGRAM ARGS". The text contains the kernel's source, what limits
    it, what was tried before, and the rules of the gate. The same profile gives the same text.
    """
    if triton_kernel is not None:
        context = _of_function(triton_kernel, program, python, profile, backend_options, (source, build, runs))
    else:
        from rocm_perf_lab.prompt.entry import PromptRequest, context_of

        context = context_of(PromptRequest(program, source, build, profile, runs, backend_options), note)
    if as_json:
        from rocm_perf_lab.json_model import json_text

        click.echo(json_text(context.document(full_source, compact)))
        return
    text = context.text(full_source, compact)
    click.echo(text, nl=False)
    from rocm_perf_lab.prompt import tokens

    note(f"{len(utf8(text)):,} bytes, about {tokens.estimate(text):,} tokens ({tokens.METHOD})")


def _of_function(
    kernel: str,
    arguments: tuple[str, ...],
    python: str,
    profile: Path | None,
    options: BackendOptions,
    hip_options: tuple[object, ...],
) -> Context:
    from rocm_perf_lab.prompt.triton.entry import TritonPromptRequest, context_of_function
    from rocm_perf_lab.prompt.triton.rules import TritonAnswerRules
    from rocm_perf_lab.triton_launches import ScriptKernel

    if any(hip_options) or options.pattern or options.check or options.also:
        raise UsageError("--source, --build, --runs, --kernel, --check and --also are not for --triton", "omit them")
    rules = TritonAnswerRules(options.min_improvement, options.ulps)
    request = TritonPromptRequest(ScriptKernel.of(kernel, arguments, python), profile, options.device, rules)
    return context_of_function(request, note)
