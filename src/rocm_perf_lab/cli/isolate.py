"""`rocm-perf isolate`: captures one dispatch of a program, so that it can be replayed elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.kernel_option import kernel_option
from rocm_perf_lab.cli.program_arguments import ProgramCommand, device_option, device_options_option, program_argument
from rocm_perf_lab.cli.progress import note


@click.command(cls=ProgramCommand)
@kernel_option("Kernels to capture a dispatch of", required=True)
@click.option(
    "--dispatch", "-n", type=click.IntRange(min=0), default=0, show_default=True, metavar="N",
    help="Index of the dispatch among the dispatches of matching kernels; the first is 0.",
)  # fmt: skip
@click.option(
    "--output", "-o", "destination", type=click.Path(path_type=Path, file_okay=False), default=Path(), metavar="DIR",
    help="Folder in which isolate_capture_<pid> is created.  [default: the current folder]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; the program's own output goes to stderr.")
@click.option(
    "--compress",
    type=click.IntRange(1, 19),
    metavar="LEVEL",
    help="zstd level to compress memory with.  [default: not compressed, in sparse files]",
)
@device_option
@device_options_option
@debug_option
@program_argument
def command(
    program: tuple[str, ...],
    kernel: str,
    dispatch: int,
    destination: Path,
    as_json: bool,
    compress: int | None,
    device: str,
    device_options: tuple[str, ...],
) -> int:
    """Run PROGRAM and capture one dispatch of it: code, arguments, and memory before and after.

    The capture is DIR/isolate_capture_<pid>, and DIR/isolate_capture links to it. The program continues undisturbed. The
    exit code is the program's own, or 37 if it succeeds but nothing was captured.
    """
    from rocm_perf_lab.isolate.capture_program import CaptureRequest, isolate

    request = CaptureRequest(program, kernel, dispatch, destination, compress, device, device_options)
    status, capture = isolate(request, sys.stderr.fileno() if as_json else None, note)
    if capture is not None and as_json:
        from rocm_perf_lab.isolate.capture_directory import Capture
        from rocm_perf_lab.isolate.isolate_document import isolate_document
        from rocm_perf_lab.json_model import json_text

        click.echo(json_text(isolate_document(Capture.open(capture), status)))
    elif capture is not None:
        print(f"replay it with: rocm-perf replay full-vm --capture-dir {capture}", file=sys.stderr)
    return status
