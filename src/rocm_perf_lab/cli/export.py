"""`rocm-perf export`: converts a run to the formats of other tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.progress import note
from rocm_perf_lab.cli.trace_part_options import gpu_option, window_option
from rocm_perf_lab.errors import OutputError, TraceError, UsageError

if TYPE_CHECKING:
    from rocm_perf_lab.analysis.timeline import Timeline
    from rocm_perf_lab.report.documents import Documents

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--perfetto", type=_FILE, metavar="FILE", help="Timeline for ui.perfetto.dev, in Perfetto's own format.")
@click.option("--chrome", type=_FILE, metavar="FILE", help="Timeline in Chrome's JSON format, which Perfetto also reads.")
@click.option("--csv", "tables", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Folder to write kernels.csv and dispatches.csv to.")  # fmt: skip
@click.option("--markdown", type=_FILE, metavar="FILE", help="Table of the kernels in Markdown; - for standard output.")
@gpu_option
@window_option
@debug_option
def command(
    run: Path,
    perfetto: Path | None,
    chrome: Path | None,
    tables: Path | None,
    markdown: Path | None,
    gpu: int | None,
    window: tuple[int | None, int | None] | None,
) -> None:
    """Export RUN, a run directory or a rocpd database, for other tools.

    Timelines have a track for each queue, stream, copy engine and host thread, a track for the critical path, arrows for
    dependencies, and counters. It is better to export a long run in part (--time-window): viewers hold everything in memory.
    """
    if not any((perfetto, chrome, tables, markdown)):
        raise UsageError("no format was requested", "give at least one of --perfetto, --chrome, --csv and --markdown")
    from rocm_perf_lab.analysis.base_run import read_base_run
    from rocm_perf_lab.analysis.timeline import Timeline
    from rocm_perf_lab.export.chrome import write_chrome
    from rocm_perf_lab.export.perfetto import write_perfetto
    from rocm_perf_lab.importing.formats import Imports
    from rocm_perf_lab.profiling.pipeline import analyse
    from rocm_perf_lab.profiling.single_rank import only_rank
    from rocm_perf_lab.rocpd.trace_part import TracePart

    with Imports(note) as imports:
        rank = only_rank(imports.databases(run))
        base = read_base_run(rank.base, part=TracePart(gpu, window))
        base.expect_kernels()
        if perfetto or chrome:
            if base.path is None:
                raise TraceError(f"{run} has no GPU times, so there is no timeline", "export tables only")
            timeline = Timeline.of(base)
            _write_timeline(perfetto, write_perfetto, timeline)
            _write_timeline(chrome, write_chrome, timeline)
        if tables or markdown:
            _tables(analyse(base, rank.repeats, rank.counters), tables, markdown)


@contextmanager
def _naming_file_in_errors(path: Path) -> Iterator[None]:
    """Convert an OSError into an OutputError that names the requested file."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written ({error.strerror})", "choose a writable folder with enough free space"
        ) from error


def _write_timeline(path: Path | None, write: Callable[[Timeline, IO[bytes]], None], timeline: Timeline) -> None:
    from rocm_perf_lab.atomic_write import atomic_write

    if path is None:
        return
    with _naming_file_in_errors(path), atomic_write(path) as temporary, temporary.open("wb") as file:
        write(timeline, file)
    note(f"wrote {path}")


def _tables(documents: Documents, tables: Path | None, markdown: Path | None) -> None:
    from rocm_perf_lab.atomic_write import atomic_write
    from rocm_perf_lab.export.tables import kernels_markdown, write_dispatches, write_kernels

    if tables is not None:
        with _naming_file_in_errors(tables):
            tables.mkdir(parents=True, exist_ok=True)
            write_kernels(documents, tables / "kernels.csv")
            write_dispatches(documents.dispatches, tables / "dispatches.csv")
        note(f"wrote kernels.csv and dispatches.csv to {tables}")
    if markdown is not None and str(markdown) == "-":
        click.echo(kernels_markdown(documents), nl=False)
    elif markdown is not None:
        with _naming_file_in_errors(markdown), atomic_write(markdown) as temporary:
            temporary.write_text(kernels_markdown(documents), encoding="utf-8")
        note(f"wrote {markdown}")
