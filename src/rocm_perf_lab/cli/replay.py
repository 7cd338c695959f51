"""`rocm-perf replay`: runs a captured dispatch again, at the same addresses."""

from __future__ import annotations

from pathlib import Path

import click

from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.program_arguments import device_option, device_options_option

_capture_option = click.option(
    "--capture-dir", type=click.Path(path_type=Path), metavar="D", help="Capture to use.  [default: the newest one here]"
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
    """Check whether every captured address range can be mapped at its exact address.

    Exit code: 0 if all can be, 1 if one cannot be mapped, 2 if one would be relocated.
    """
    from rocm_perf_lab.isolate.capture_directory import newest
    from rocm_perf_lab.replaying.replay_process import run_attached

    return run_attached("reserve-check", capture_dir or newest(), ["--json"] if as_json else [], device)


@command.command("full-vm")
@_capture_option
@click.option(
    "--iterations",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Number of timed runs of the kernel.",
)
@click.option(
    "--warmup", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="Untimed warm-up iterations."
)
@click.option(
    "--no-recopy", is_flag=True, help="Do not restore memory between iterations: each continues where the last one ended."
)
@click.option(
    "--hsaco",
    type=click.Path(path_type=Path),
    metavar="F",
    help="Code object to run instead of the captured one; it must fit the dispatch.",
)
@click.option("--groups", metavar="X[,Y[,Z]]", help="Number of workgroups to launch.  [default: as captured]")
@click.option(
    "--group-size", metavar="X[,Y[,Z]]", help="Work-items per workgroup; without --groups, the number of workgroups does not "
    "change.  [default: as captured]",
)  # fmt: skip
@click.option(
    "--dynamic-lds",
    type=click.IntRange(0, 163840),
    metavar="BYTES",
    help="Dynamic LDS per workgroup, in addition to what the kernel declares.  [default: as captured]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--compare",
    is_flag=True,
    help="Compare memory after the last iteration with the capture, byte by byte; exit code 40 if it differs.",
)
@click.option(
    "--tolerance", "tolerances", multiple=True, metavar="SPEC",
    help="Compare as numbers, with a tolerance: [0xADDRESS:]TYPE=RELATIVE[,ABSOLUTE], where TYPE is f16, bf16, f32 or f64; "
    "without an address, everywhere except in code objects. A NaN equals only the same bits. Repeatable.",
)  # fmt: skip
@click.option(
    "--dump-output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for the regions that the kernel changed, and outputs.json.",
)
@click.option("--flush-cache", is_flag=True, help="Empty the caches before each iteration.")
@click.option(
    "--poison",
    type=click.IntRange(0, 255),
    metavar="BYTE",
    help="Before each iteration, overwrite with BYTE what the captured kernel changed.",
)
@click.option(
    "--overlay",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Inputs to write over the captured memory first. Not with --compare.",
)
@click.option(
    "--timeout", type=click.IntRange(min=1), default=600, show_default=True, metavar="SECONDS", help="Timeout per dispatch."
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
    groups: str | None,
    group_size: str | None,
    dynamic_lds: int | None,
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
    """Rebuild the captured memory at its addresses and run the kernel there.

    Prints the GPU's time (from timestamps of the hardware or of the software device) and the time on the host's clock from
    ringing the doorbell to seeing the end. Neither includes set-up.
    """
    from rocm_perf_lab.collect.device import require_observation
    from rocm_perf_lab.isolate.capture_directory import newest
    from rocm_perf_lab.replaying.replay_process import run_attached

    require_observation(device_options, "replay")
    options = ["--iterations", str(iterations), "--warmup", str(warmup), "--timeout", str(timeout)]
    flags = {"--no-recopy": no_recopy, "--json": as_json, "--compare": compare, "--flush-cache": flush_cache}
    options += [name for name, wanted in flags.items() if wanted]
    values: dict[str, Path | str | int | None] = {
        "--hsaco": hsaco,
        "--dump-output": dump_output,
        "--poison": poison,
        "--overlay": overlay,
    }
    values |= {"--groups": groups, "--group-size": group_size, "--dynamic-lds": dynamic_lds}
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
    help="Folder to create.  [default: ./reproducer_<kernel>]",
)
@debug_option
def export(capture_dir: Path | None, destination: Path | None) -> None:
    """Write a reproducer for capture D that needs only ROCm: memory, a C++ program, a Makefile and a README."""
    import re

    from rocm_perf_lab.isolate.capture_directory import Capture, newest
    from rocm_perf_lab.replaying.export import export as write

    capture = Capture.open(capture_dir or newest())
    folder = destination or Path("reproducer_" + re.sub(r"\W+", "_", capture.kernel.partition("(")[0]).strip("_"))
    write(capture, folder)
    click.echo(f"{folder}: run it with `make -C {folder}`")
