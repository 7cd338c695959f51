"""`rocm-perf replay`: run a captured dispatch again, at the same addresses."""

from __future__ import annotations

from pathlib import Path

import click

from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.program_arguments import device_option, device_options_option

_capture_option = click.option(
    "--capture-dir", type=click.Path(path_type=Path), metavar="D", help="The capture.  [default: the newest in this folder]"
)


@click.group()
def command() -> None:
    """Run a captured dispatch again, at the same addresses."""


@command.command("reserve-check")
@_capture_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@device_option
@debug_option
def reserve_check(capture_dir: Path | None, as_json: bool, device: str) -> int:
    """Can every captured address range be had exactly?

    Exit status: 0 all exact, 1 one cannot be had, 2 one would be relocated.
    """
    from rocm_perf_lab.isolate.capture import newest
    from rocm_perf_lab.replay.run import run_attached

    return run_attached("reserve-check", capture_dir or newest(), ["--json"] if as_json else [], device)


@command.command("full-vm")
@_capture_option
@click.option(
    "--iterations", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="How often to run the kernel."
)
@click.option(
    "--warmup", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="Runs before, not counted."
)
@click.option(
    "--no-recopy", is_flag=True, help="Do not restore memory between iterations: each goes on where the last one ended."
)
@click.option(
    "--hsaco", type=click.Path(path_type=Path), metavar="F", help="Run the kernel of this code object instead of the captured."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--compare", is_flag=True, help="Compare memory after the last iteration with the captured, byte by byte; 40 if it differs."
)
@click.option(
    "--tolerance", "tolerances", multiple=True, metavar="SPEC",
    help="Compare as numbers: [0xADDRESS:]TYPE=RELATIVE[,ABSOLUTE], TYPE one of f16, bf16, f32, f64. Repeatable.",
)  # fmt: skip
@click.option(
    "--dump-output", type=click.Path(path_type=Path), metavar="DIR", help="Write the regions that the kernel changed to DIR."
)
@click.option("--flush-cache", is_flag=True, help="Empty the caches before each iteration.")
@click.option(
    "--poison", type=click.IntRange(0, 255), metavar="BYTE", help="Overwrite what the captured kernel changed with BYTE first."
)
@click.option(
    "--overlay", type=click.Path(path_type=Path), metavar="FILE", help="Put other inputs over the captured memory first."
)
@click.option(
    "--timeout", type=click.IntRange(min=1), default=600, show_default=True, metavar="SECONDS", help="For one dispatch."
)
@device_option
@device_options_option
@debug_option
def full_vm(
    capture_dir: Path | None,
    iterations: int,
    warmup: int,
    no_recopy: bool,
    hsaco: Path | None,
    as_json: bool,
    compare: bool,
    tolerances: tuple[str, ...],
    dump_output: Path | None,
    flush_cache: bool,
    poison: int | None,
    overlay: Path | None,
    timeout: int,
    device: str,
    device_options: tuple[str, ...],
) -> int:
    """Rebuild the captured memory at its addresses and run the kernel there."""
    from rocm_perf_lab.isolate.capture import newest
    from rocm_perf_lab.replay.run import run_attached

    options = ["--iterations", str(iterations), "--warmup", str(warmup), "--timeout", str(timeout)]
    flags = {"--no-recopy": no_recopy, "--json": as_json, "--compare": compare, "--flush-cache": flush_cache}
    options += [name for name, wanted in flags.items() if wanted]
    values = {"--hsaco": hsaco, "--dump-output": dump_output, "--poison": poison, "--overlay": overlay}
    options += [word for name, value in values.items() if value is not None for word in (name, str(value))]
    options += [word for tolerance in tolerances for word in ("--tolerance", tolerance)]
    return run_attached("full-vm", capture_dir or newest(), options, device, device_options)


@command.command("export")
@click.argument("capture_dir", metavar="D", required=False, type=click.Path(path_type=Path))
@click.option(
    "--output",
    "-o",
    "destination",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder to make.  [default: ./reproducer_<kernel>]",
)
@debug_option
def export(capture_dir: Path | None, destination: Path | None) -> None:
    """Write a reproducer of capture D: its memory, a small C++ program, a Makefile, a README. It needs only ROCm."""
    import re

    from rocm_perf_lab.isolate.capture import Capture, newest
    from rocm_perf_lab.replay.export import export as write

    capture = Capture.open(capture_dir or newest())
    folder = destination or Path("reproducer_" + re.sub(r"\W+", "_", capture.kernel.partition("(")[0]).strip("_"))
    write(capture, folder)
    click.echo(f"{folder}: run it with `make -C {folder}`")
