"""`rocm-perf ceilings`: what this device's units can actually reach, measured by microbenchmarks."""

from __future__ import annotations

from pathlib import Path

import click

from rocm_perf_lab.atomic_write import atomic_write
from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.number import FiniteNumber
from rocm_perf_lab.cli.program_arguments import device_option
from rocm_perf_lab.cli.progress import note
from rocm_perf_lab.errors import OutputError
from rocm_perf_lab.utf8 import utf8


@click.command()
@device_option
@click.option("--only", "only", multiple=True, metavar="NAME", help="Benchmark to run, such as HBM or mfma_f16. Repeatable.")
@click.option("--repeats", type=click.IntRange(min=1), help="Measurements per benchmark.  [default: 5; software device 1]")
@click.option(
    "--output", "-o", "destination", type=click.Path(path_type=Path, file_okay=False), default=Path("ceilings"),
    show_default=True, metavar="DIR", help="Folder for ceilings.json and roofline.csv.",
)  # fmt: skip
@click.option("--timeout", type=FiniteNumber(min=0, min_open=True), metavar="SECONDS", help="Timeout per benchmark.")
@click.option("--json", "as_json", is_flag=True, help="Print ceilings.json instead of a table.")
@debug_option
def command(
    device: str, only: tuple[str, ...], repeats: int | None, destination: Path, timeout: float | None, as_json: bool
) -> None:
    """Measure the device's ceilings: bandwidth of every memory level, rate of every pipe and precision.

    On the software device the ceilings are modelled.
    """
    from rocm_perf_lab.json_model import json_text
    from rocm_perf_lab.profiling.ceilings import measure_ceilings
    from rocm_perf_lab.report import ceilings as report

    measurement = measure_ceilings(device, only, repeats, note, timeout)
    document = report.document(measurement)
    _write(destination, report.files(document, measurement))
    if as_json:
        click.echo(json_text(document))
    else:
        report.render(document)
        click.echo(f"\nWritten to {destination}")


def _write(folder: Path, files: dict[str, str]) -> None:
    """Write each file completely or not at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            with atomic_write(folder / name) as temporary:
                temporary.write_bytes(utf8(text))
    except OSError as error:
        raise OutputError(f"cannot write {folder} ({error.strerror})", "choose another -o DIR") from error
