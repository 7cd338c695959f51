"""`rocm-perf profile`: which kernel dominates, what it uses, where it is on the roofline, and why it is slow."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from rocm_perf_lab.cli.ceilings_option import ceilings_option
from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.kernel_option import kernel_option
from rocm_perf_lab.cli.number import FiniteNumber
from rocm_perf_lab.cli.parameter_type import ParamType
from rocm_perf_lab.cli.printed_report import print_json, print_report, verbose_option
from rocm_perf_lab.cli.program_arguments import (
    ProgramCommand,
    device_options_option,
    program_argument,
    several_devices_option,
)
from rocm_perf_lab.cli.progress import note
from rocm_perf_lab.errors import TraceError, UsageError

if TYPE_CHECKING:
    from rocm_perf_lab.report.documents import Documents


class _Integer(ParamType[int]):
    """An integer from 0 to 15, decimal or, as in rocprofv3, hexadecimal."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(value, 0)
        except ValueError:
            self.fail(f"{value!r} is not an integer", param, ctx)
        return number if 0 <= number <= 0xF else self.fail(f"{value} is not in the range 0 to 0xF", param, ctx)


@click.command(cls=ProgramCommand)
@click.option(
    "--runs", type=click.IntRange(min=1),
    help="Number of runs of the program. The first provides times and critical path, the others only the spread.  [default: 3; "
    "1 if times are modelled, since they do not vary]",
)  # fmt: skip
@kernel_option(
    "Kernels to collect counters and a thread trace for, and to report on; the critical path remains that of all kernels"
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object instead of the report; the program's own output goes to stderr.",
)
@click.option("--quiet", "-q", is_flag=True, help="Print the runtime in milliseconds and nothing else.")
@verbose_option
@click.option(
    "--collector", type=click.Choice(("auto", "rocprofv3", "tracer")), default="auto", show_default=True,
    help="Tool that records the runs: rocprofv3, also on the software device, or the built-in tracer. `auto` uses rocprofv3 on "
    "a GPU if it is installed.",
)  # fmt: skip
@click.option(
    "--no-rocprof", is_flag=True, help="Use the built-in tracer even if rocprofv3 is installed, like `--collector tracer`."
)
@several_devices_option
@device_options_option
@click.option(
    "--output", "-o", "destination", type=click.Path(path_type=Path), metavar="DIR",
    help="Run directory to write; an earlier run there is replaced.  [default: ./<program>.rocm-perf]",
)  # fmt: skip
@click.option("--timeout", type=FiniteNumber(min=0, min_open=True), metavar="SECONDS", help="Timeout per run of the program.")
@click.option(
    "--clock-mhz",
    type=FiniteNumber(min=0, min_open=True),
    metavar="MHZ",
    help="GPU clock for the ceilings, instead of the one in the trace.",
)
@click.option(
    "--memory-bandwidth-gbps",
    type=FiniteNumber(min=0, min_open=True),
    metavar="GB/S",
    help="Memory bandwidth for the ceilings, instead of the product's.",
)
@ceilings_option
@click.option(
    "--roofline/--no-roofline",
    default=True,
    show_default=True,
    help="Collect counters, with rocprofv3 in additional runs, and place the kernels under the roofline.",
)
@click.option(
    "--deep-analysis/--no-deep-analysis", default=True, show_default=True,
    help="Record a thread trace of one dispatch in an additional run, if the collector can.",
)  # fmt: skip
@click.option(
    "--focus-critical/--no-focus-critical", default=True, show_default=True,
    help="Trace the kernel with the most time on the critical path, instead of the one with the longest dispatch.",
)  # fmt: skip
@click.option("--att-target-cu", type=click.IntRange(0, 15), default=1, show_default=True, help="Compute unit to trace.")
@click.option(
    "--att-simd-select", type=_Integer(), metavar="MASK",
    help="SIMDs to trace: a mask on gfx9 and on the software device (default 0xF), the number of one SIMD on a GPU of gfx10 "
    "and later (default 0).",
)  # fmt: skip
@debug_option
@program_argument
def command(
    program: tuple[str, ...],
    runs: int | None,
    kernel: str | None,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    collector: str,
    no_rocprof: bool,
    device: str,
    device_options: tuple[str, ...],
    destination: Path | None,
    timeout: float | None,
    clock_mhz: float | None,
    memory_bandwidth_gbps: float | None,
    ceilings: Path | None,
    roofline: bool,
    deep_analysis: bool,
    focus_critical: bool,
    att_target_cu: int,
    att_simd_select: int | None,
) -> None:
    """Profile PROGRAM: run it, then report its kernels, critical path, roofline and bottleneck.

    PROGRAM and ARGS are separate words or one quoted string. Options of rocm-perf come before PROGRAM; they may also follow a
    quoted string. Every run of the program reads the same standard input, if that is a file or a pipe.
    """
    from rocm_perf_lab.profiling.request import ProfileRequest
    from rocm_perf_lab.profiling.session import profile

    if as_json and quiet:
        raise UsageError("--json cannot be combined with --quiet", "choose one")
    request = ProfileRequest(
        command=program,
        runs=runs,
        kernel=kernel,
        device=device,
        device_options=device_options,
        collector=_collector(collector, no_rocprof),
        destination=destination,
        timeout=timeout,
        clock_mhz=clock_mhz,
        memory_bandwidth_gbps=memory_bandwidth_gbps,
        ceilings=ceilings,
        roofline=roofline,
        deep_analysis=deep_analysis,
        focus_critical=focus_critical,
        att_target_cu=att_target_cu,
        att_simd_select=att_simd_select,
    )
    with _program_output(to_stderr=as_json or quiet) as program_output:
        documents, directory = profile(request, program_output, _silent if quiet else note)
    if as_json:
        print_json([documents], None, directory)
    elif quiet:
        click.echo(_runtime_ms(documents))
    else:
        print_report([documents], None, directory, verbose)


def _collector(choice: str, no_rocprof: bool) -> str:
    if no_rocprof and choice == "rocprofv3":
        raise UsageError("--no-rocprof cannot be combined with --collector rocprofv3", "choose one")
    return "tracer" if no_rocprof else choice


@contextlib.contextmanager
def _program_output(to_stderr: bool) -> Iterator[IO[bytes] | None]:
    """Where the program's standard output goes: to stderr if it must not mix with the result, else to stdout (None)."""
    if not to_stderr:
        yield None
        return
    with os.fdopen(os.dup(sys.stderr.fileno()), "wb") as stream:
        yield stream


def _silent(_text: str) -> None:
    pass


def _runtime_ms(documents: Documents) -> float:
    if documents.profile.runtime_ms is None:
        raise TraceError(f"no runtime: {documents.profile.reasons['runtime_ms']}", "see the full report, without --quiet")
    return documents.profile.runtime_ms
