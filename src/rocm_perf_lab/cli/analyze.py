"""`rocm-perf analyze`: analyses existing databases, wherever they were collected."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from rocm_perf_lab.cli.ceilings_option import ceilings_option
from rocm_perf_lab.cli.console import stdout_console
from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.kernel_option import KernelPattern, kernel_option
from rocm_perf_lab.cli.number import FiniteNumber
from rocm_perf_lab.cli.parameter_type import ParamType
from rocm_perf_lab.cli.printed_report import print_json, print_report, verbose_option
from rocm_perf_lab.cli.progress import note
from rocm_perf_lab.cli.trace_part_options import gpu_option, window_option
from rocm_perf_lab.errors import MissingInputError, UsageError


class _Speedup(ParamType[tuple[str, float]]):
    """'REGEX=2' -> ('REGEX', 2.0), split at the last '='."""

    name = "speedup"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        pattern, equals, factor = value.rpartition("=")
        if not equals or not re.fullmatch(r"\d+(\.\d+)?x?", factor) or float(factor.rstrip("x")) == 0:
            self.fail(f"{value!r} is not REGEX=FACTOR, such as softmax=2", param, ctx)
        return KernelPattern().convert(pattern, param, ctx), float(factor.rstrip("x"))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("traces", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="TRACE...")
@kernel_option("Kernels to report on; the critical path remains that of all kernels")
@gpu_option
@window_option
@click.option(
    "--what-if", "speedups", type=_Speedup(), multiple=True, metavar="REGEX=FACTOR",
    help="Predict the GPU's span if the kernels that match REGEX were FACTOR times faster, e.g. softmax=2. Repeatable; the "
    "predictions are independent.",
)  # fmt: skip
@click.option(
    "--thread-trace", type=click.Path(path_type=Path), metavar="DIR",
    help="Output folder of `rocprofv3 --att`, from a run of the same program: adds the thread trace to its kernel. For a "
    "single rank only.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the report.")
@verbose_option
@click.option("--output", "-o", "destination", type=click.Path(path_type=Path), metavar="DIR",
              help="Run directory to write.  [default: ./<trace>.rocm-perf, or ./<run>.analysis.rocm-perf if "
                  "that trace is in "
              "a run directory]")  # fmt: skip
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Dask scheduler whose workers analyse the ranks, e.g. tcp://node:8786.  [default: processes on this machine]",
)
@click.option(
    "--clock-mhz",
    type=FiniteNumber(min=0, min_open=True),
    metavar="MHZ",
    help="GPU clock for the ceilings, instead of the one in the trace.",
)
@click.option("--memory-bandwidth-gbps", type=FiniteNumber(min=0, min_open=True), metavar="GB/S",
              help="Memory bandwidth for the ceilings, instead of the product's.")  # fmt: skip
@ceilings_option
@debug_option
def command(
    traces: tuple[Path, ...],
    kernel: str | None,
    gpu: int | None,
    window: tuple[int | None, int | None] | None,
    speedups: tuple[tuple[str, float], ...],
    thread_trace: Path | None,
    as_json: bool,
    verbose: bool,
    destination: Path | None,
    scheduler: str | None,
    clock_mhz: float | None,
    memory_bandwidth_gbps: float | None,
    ceilings: Path | None,
) -> None:
    """Analyse rocpd databases from rocprofv3 or from this tool, of one run or of several.

    A folder stands for all .db files in it; a folder that contains only thread traces gets a report of its own. Other files are
    converted first: rocprofv3's CSV and JSON, workload folders of rocprof-compute, results of the older rocprof, and .rpd files
    of rocmProfileData. Databases of different ranks are analysed side by side; repeated runs and counter passes are assigned to
    their rank. Neither a GPU nor ROCm is needed. The traces are never modified.
    """
    if len(traces) == 1 and thread_trace is None and _holds_only_thread_traces(traces[0]):
        source_of = click.get_current_context().get_parameter_source
        _report_traced(traces[0], as_json, [name for name in _OF_DATABASES if source_of(name) == ParameterSource.COMMANDLINE])
        return
    if len({path.resolve() for path in traces}) < len(traces):
        raise UsageError("a trace is named twice", "name each database once")
    if thread_trace is not None:
        _check_thread_trace(thread_trace)
        thread_trace = thread_trace.absolute()  # for workers with a different working directory
    from rocm_perf_lab.analysis.what_if import Speedup
    from rocm_perf_lab.importing.formats import Imports
    from rocm_perf_lab.profiling.existing_databases import analyse_existing
    from rocm_perf_lab.profiling.parallel_ranks import AnalysisRequest
    from rocm_perf_lab.profiling.run_name import of_trace
    from rocm_perf_lab.rocpd.trace_part import TracePart

    wanted = tuple(Speedup(*speedup) for speedup in speedups)
    request = AnalysisRequest(TracePart(gpu, window), kernel, clock_mhz, memory_bandwidth_gbps, wanted, ceilings, thread_trace)
    with Imports(note) as imports:
        databases = [path for trace in traces for path in imports.databases(trace)]
        if len({path.resolve() for path in databases}) < len(databases):
            raise UsageError("a trace is named twice", "name each database once")
        destination = destination or of_trace(databases[0])
        analysis = analyse_existing(databases, request, destination, scheduler, note)
    if as_json:
        print_json(analysis.reports, analysis.summary, destination)
    else:
        print_report(analysis.reports, analysis.summary, destination, verbose)


# Parameters that apply only to a database.
_OF_DATABASES = (
    "kernel",
    "gpu",
    "window",
    "speedups",
    "destination",
    "scheduler",
    "clock_mhz",
    "memory_bandwidth_gbps",
    "ceilings",
)


def _holds_only_thread_traces(folder: Path) -> bool:
    from rocm_perf_lab.analysis.thread_trace.find_traces import find

    return folder.is_dir() and next(folder.rglob("*.db"), None) is None and bool(find(folder))


def _report_traced(folder: Path, as_json: bool, asked: list[str]) -> None:
    """Report on a folder that contains only thread traces. Raises UsageError for options that need a database."""
    if asked:
        option = {"window": "time-window", "speedups": "what-if", "destination": "output"}.get(
            asked[0], asked[0].replace("_", "-")
        )
        hint = "give the database of a run, and this folder as --thread-trace"
        raise UsageError(f"--{option} needs a database, but {folder} has only thread traces", hint)
    from rocm_perf_lab.report.thread_trace_without_database import render_traced, traced_only

    document = traced_only(folder)
    if as_json:
        from rocm_perf_lab.json_model import json_text
        from rocm_perf_lab.report.profile_output import ThreadTraceOutput

        click.echo(json_text(ThreadTraceOutput(thread_trace=document)))
        return
    render_traced(document, stdout_console())


def _check_thread_trace(folder: Path) -> None:
    from rocm_perf_lab.analysis.thread_trace.find_traces import find

    if not folder.exists() or not find(folder):
        problem = "contains no thread trace" if folder.exists() else "does not exist"
        hint = "give the output folder of `rocprofv3 --att`, with stats_*.csv and ui_output_agent_*_dispatch_*"
        raise MissingInputError(f"{folder} {problem}", hint)
