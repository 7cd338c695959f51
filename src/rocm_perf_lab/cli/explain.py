"""`rocm-perf explain`: what a term means, why a run's kernels are slow, or what a captured dispatch spends its time on."""

from __future__ import annotations

from pathlib import Path

import click

from rocm_perf_lab.cli.console import stdout_console
from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.kernel_option import kernel_option
from rocm_perf_lab.errors import UsageError

_MAX_KERNELS = 1
_OF_A_CAPTURE = "dispatch.json"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("what", required=False, metavar="[RUN|CAPTURE|TERM]")
@kernel_option("Kernels of RUN to explain")
@click.option("--line", metavar="[FILE:]LINE", help="Show only what experiments found about this source line.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@debug_option
def command(what: str | None, kernel: str | None, line: str | None, as_json: bool) -> None:
    """Explain why the kernels of a run or a captured dispatch are slow, or what a term of the reports means.

    RUN is a run directory of `profile` or `analyze`. The text covers the kernel that matters most: the cause with its numbers
    and their thresholds, what the software device found by experiment, why other causes were ruled out, and what to try.
    CAPTURE is a capture of `isolate`, possibly from a GPU: the software device replays it, and finds by experiment what its
    time is spent on. TERM is a cause, a factor, a number or a cost, such as latency-bound. The text covers its meaning, when it
    applies, where its thresholds come from, and remedies. Without any of these, all terms are listed. --line needs code
    compiled with -g.
    """
    from rocm_perf_lab.analysis.explanation import terms

    if what is not None and what not in terms() and Path(what, _OF_A_CAPTURE).is_file():
        if kernel is not None:
            raise UsageError("--kernel needs a run, and this is a capture of one kernel", "leave it out")
        _explain_capture(Path(what), line, as_json)
    elif what is not None and what not in terms():
        _explain_run(Path(what), kernel, line, as_json)
    elif kernel is not None:
        raise UsageError("--kernel needs a run", "name a run directory")
    elif line is not None:
        raise UsageError("--line needs a run or a capture", "name a run directory or the folder of a capture")
    else:
        _explain_term(what, as_json)


def _explain_term(name: str | None, as_json: bool) -> None:
    from rocm_perf_lab.analysis.explanation import terms
    from rocm_perf_lab.report.explain import render_overview, render_term, term_section
    from rocm_perf_lab.report.explain_document import ExplainDocument

    known = terms()
    asked = list(known.values()) if name is None else [known[name]]
    sections = [term_section(term) for term in asked]
    if as_json:
        from rocm_perf_lab.json_model import json_text

        click.echo(json_text(ExplainDocument(terms=sections, kernels=[])))
    elif name is None:
        render_overview(asked, stdout_console())
    else:
        render_term(sections[0], stdout_console())


def _explain_run(run: Path, kernel: str | None, line: str | None, as_json: bool) -> None:
    from rocm_perf_lab.kernel_pattern import fits
    from rocm_perf_lab.report.explain import kernel_explanation, render_kernel
    from rocm_perf_lab.report.explain_document import ExplainDocument
    from rocm_perf_lab.report.read_run_directory import read_run_directory
    from rocm_perf_lab.report.terminal_time_stack import render_lines, with_line
    from rocm_perf_lab.text.names import KernelNames

    if not run.exists():
        raise UsageError(
            f"{run} is neither a run directory, a capture nor a term", f"{_meant(str(run))}`rocm-perf explain` lists the terms"
        )
    _, ranks = read_run_directory(run)
    kernels = [
        section for reports in ranks for section in reports.analysis.kernels if kernel is None or fits(kernel, section.kernel)
    ]
    if not kernels:
        raise UsageError(f"no kernel of {run} matches {kernel}", "see `rocm-perf report` for their names")
    of_runtime = {symbol.kernel for reports in ranks for symbol in reports.dag.symbols if symbol.kind == "runtime kernel"}
    kernels.sort(key=lambda section: (section.kernel in of_runtime, -(section.critical_path_score or 0.0)))
    if line is not None:
        kernels = with_line(kernels, line)
    shown = kernels if kernel is not None or as_json else kernels[:_MAX_KERNELS]
    explained = [kernel_explanation(section) for section in shown]
    if as_json:
        from rocm_perf_lab.json_model import json_text

        click.echo(json_text(ExplainDocument(terms=[], kernels=explained)))
        return
    console, names = stdout_console(), KernelNames(section.kernel for section in kernels)
    for number, section in enumerate(explained):
        if number:
            console.print()
        if line is not None and section.time_stack is not None:
            render_lines(section.time_stack, names.prose(section.kernel), console)
        else:
            render_kernel(section, names.prose(section.kernel), console)
    if left := len(kernels) - len(explained):
        console.print(f"\n{left} more: --kernel REGEX")


def _explain_capture(folder: Path, line: str | None, as_json: bool) -> None:
    from rocm_perf_lab.isolate.capture_directory import Capture
    from rocm_perf_lab.replaying.experiment import experiment_with
    from rocm_perf_lab.report.explain_document import CaptureExplanation, ExplainDocument
    from rocm_perf_lab.report.terminal_time_stack import only_line, render_capture, render_lines
    from rocm_perf_lab.report.thread_trace import time_stack_section

    experiment = experiment_with(Capture.open(folder))
    stack = time_stack_section(experiment.stack)
    explained = CaptureExplanation(
        kernel=experiment.capture.kernel,
        recorded_ns=experiment.recorded_ns,
        recorded_timing="measured" if experiment.measured else "modelled",
        time_stack=stack if line is None else only_line(stack, line),
        model_within=None if isinstance(experiment.error, str) else experiment.error.within,
        beyond_error=experiment.beyond_error,
    )
    if as_json:
        from rocm_perf_lab.json_model import json_text

        click.echo(json_text(ExplainDocument(terms=[], kernels=[], capture=explained)))
    elif line is not None:
        render_lines(explained.time_stack, explained.kernel, stdout_console())
    else:
        render_capture(explained, stdout_console())


def _meant(word: str) -> str:
    import difflib

    from rocm_perf_lab.analysis.explanation import terms

    near = difflib.get_close_matches(word, terms(), 1)
    return f"did you mean {near[0]}? " if near else ""
