"""The Python interface: `import rocm_perf_lab as rpl`. Everything here is available as an attribute of the package.

Errors are RocmPerfErrors (see rocm_perf_lab.errors), with the same messages as on the command line.
"""

from __future__ import annotations

import html
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocm_perf_lab.errors import MissingInputError, UnavailableError

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

    from rocm_perf_lab.comparison.compare_document import CompareDocument
    from rocm_perf_lab.isolate import Capture
    from rocm_perf_lab.replaying.replay_process import ReplayResult
    from rocm_perf_lab.report.dag_schema import DagDocument
    from rocm_perf_lab.report.documents import CoreDocuments
    from rocm_perf_lab.report.schema import AnalysisDocument, ProfileDocument, RooflineDocument

AnyPath = str | os.PathLike[str]


@dataclass(frozen=True)
class Roofline:
    """document: the roofline of every kernel, as in roofline.json."""

    document: RooflineDocument

    def plot(self, level: str = "HBM", axes: Axes | None = None) -> Axes:
        """Draw the kernels under the roofs of one memory level (HBM, MALL, L2, L1 or LDS); needs matplotlib.

        Returns `axes`, or new axes if it is None. Raises UnavailableError without matplotlib.
        """
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise UnavailableError("matplotlib is missing", "run `pip install matplotlib`") from error
        from rocm_perf_lab.text.names import short_name

        axes = axes or pyplot.subplots()[1]
        roofs = {(part.pipe, part.precision): part.peak_gflops for kernel in self.document.kernels for part in kernel.arithmetic
                 if part.flop and part.peak_gflops}  # fmt: skip
        gbps = next(
            (traffic.peak_gbps for kernel in self.document.kernels for traffic in kernel.levels if traffic.level == level), None
        )
        for kernel in self.document.kernels:
            amount = next((traffic.bytes for traffic in kernel.levels if traffic.level == level), None)
            if kernel.flop and amount and kernel.gflops:
                axes.plot(kernel.flop / amount, kernel.gflops, "o", label=short_name(kernel.kernel))
        for (pipe, precision), peak in roofs.items():
            if gbps:
                axes.plot([0.01, peak / gbps, 1000], [0.01 * gbps, peak, peak], "-", label=f"{pipe.upper()} {precision}")
        axes.set(xscale="log", yscale="log", xlabel=f"FLOP per byte ({level})", ylabel="GFLOP/s")
        if axes.lines:
            axes.legend()
        return axes


@dataclass(frozen=True)
class Run:
    """A run of a program. documents: all results. directory: its run directory; None for a run that was loaded from anything
    else, such as a database.

    Tables are Arrow tables, which need pyarrow. Convert them with `.to_pandas()`, or with `polars.from_arrow(...)`, which does
    not copy.
    """

    documents: CoreDocuments
    directory: Path | None

    @property
    def profile(self) -> ProfileDocument:
        """The contents of profile.json."""
        return self.documents.profile

    @property
    def analysis(self) -> AnalysisDocument:
        """The contents of analysis.json: each kernel's bottleneck with evidence, and its headroom."""
        return self.documents.analysis

    @property
    def dag(self) -> DagDocument:
        """The contents of dag.json: the critical path."""
        return self.documents.dag

    @property
    def roofline(self) -> Roofline:
        return Roofline(self.documents.roofline)

    @property
    def is_modelled(self) -> bool:
        """Whether times come from the software device's timing model rather than from a GPU."""
        return self.profile.timing == "modelled"

    @cached_property
    def kernels(self) -> pa.Table:
        """One row per kernel, most time first: times, share of the path, bottleneck, headroom, resources. Null: unknown."""
        from rocm_perf_lab.export.tables import kernels_table

        return kernels_table(self.documents)

    @cached_property
    def dispatches(self) -> pa.Table:
        """One row per dispatch or copy, as in dispatches.parquet."""
        from rocm_perf_lab.extras import missing_extra
        from rocm_perf_lab.report.arrow_table import read_parquet
        from rocm_perf_lab.report.documents import Documents

        if isinstance(self.documents, Documents):
            return self.documents.dispatches.table()
        path = (self.directory or Path()) / "dispatches.parquet"
        if not path.exists():
            raise MissingInputError(f"there is no {path}", "profile the program again")
        try:
            return read_parquet(path)
        except ImportError as error:
            raise missing_extra("an Arrow table needs the Python package pyarrow", "parquet") from error

    def report(self, width: int = 100) -> str:
        """The whole report as text."""
        from rich.console import Console

        from rocm_perf_lab.report.terminal import render

        out = io.StringIO()
        render(self.documents, Console(file=out, width=width))
        return out.getvalue()

    def __repr__(self) -> str:
        kernel, of_path = self.dag.dominant_symbol, self.dag.fraction
        dominant = f", {kernel} has {of_path:.0%} of the critical path" if kernel and of_path is not None else ""
        return f"<Run of {self.profile.run.command}, {self.profile.timing}{dominant}>"

    def _repr_html_(self) -> str:
        """What a notebook displays: the answer and a table of the kernels."""
        from rocm_perf_lab.report.terminal_answer import answer, kernel_of_interest
        from rocm_perf_lab.text.names import KernelNames, short_name
        from rocm_perf_lab.text.quantities import milliseconds, percent

        kernels = self.analysis.kernels
        lines = answer(self.dag, kernel_of_interest(self.documents), KernelNames(kernel.kernel for kernel in kernels))
        head = "MODELLED: no GPU ran this" if self.is_modelled else "measured"
        rows = (
            (
                short_name(kernel.kernel),
                milliseconds(kernel.time_ms),
                percent(kernel.critical_path_score),
                kernel.bottleneck.name,
            )
            for kernel in kernels
        )
        return "".join(
            [f"<b>{html.escape(self.profile.run.command)}</b> ({head})<dl>"]
            + [f"<dt>{html.escape(label)}</dt><dd>{html.escape(text)}</dd>" for label, text in lines]
            + ["</dl><table><tr><th>kernel</th><th>time</th><th>of path</th><th>bottleneck</th></tr>"]
            + [f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows]
            + ["</table>"]
        )


def profile(
    command: Sequence[str] | str,
    *,
    output: AnyPath | None = None,
    runs: int | None = None,
    kernel: str | None = None,
    device: str = "auto",
    device_options: Sequence[str] = (),
    timeout: float | None = None,
    deep_analysis: bool = True,
    quiet: bool = True,
) -> Run:
    """Run a program and analyse it, as `rocm-perf profile` does.

    command: program and arguments. output: the run directory; None for ./<program>.rocm-perf, replacing an earlier run there.
    runs: how often to run it; None for three, or one if times are modelled. kernel: a regular expression for the kernels to
    report on. device, device_options: as for `--device` and `--device-option`. timeout: seconds per run. deep_analysis: whether
    to make a thread trace. quiet: whether to suppress progress messages and the program's output.
    """
    import sys

    from rocm_perf_lab.profiling.request import ProfileRequest
    from rocm_perf_lab.profiling.session import profile as run_profile

    command = [command] if isinstance(command, str) else list(command)
    request = ProfileRequest(
        command=command, runs=runs, kernel=kernel, device=device, device_options=device_options, timeout=timeout,
        destination=None if output is None else Path(output), deep_analysis=deep_analysis,
    )  # fmt: skip

    def note(text: str) -> None:
        if not quiet:
            print(f"rocm-perf: {text}", file=sys.stderr)

    if not quiet:
        return Run(*run_profile(request, None, note))
    with open(os.devnull, "wb") as nowhere:
        return Run(*run_profile(request, nowhere, note))


def load(path: AnyPath) -> Run:
    """Load an earlier run: a run directory, or anything that `rocm-perf analyze` reads (databases, other profilers' files)."""
    from rocm_perf_lab.report.read_run_directory import is_run_directory, reports_in

    path = Path(path)
    if is_run_directory(path):
        return Run(reports_in(path), path)
    from rocm_perf_lab.importing.formats import Imports
    from rocm_perf_lab.profiling.pipeline import analyse
    from rocm_perf_lab.profiling.single_rank import only_rank

    with Imports(lambda _: None) as imports:
        rank = only_rank(imports.databases(path))
        return Run(analyse(rank.base, rank.repeats, rank.counters), None)


def compare(
    base: AnyPath | Run, *new: AnyPath | Run, fail_on: Sequence[str] = (), kernel: str | None = None
) -> CompareDocument:
    """Compare runs with a base, as `rocm-perf compare` does.

    base, new: run directories, databases, captures, folders of several runs, or Runs with a directory. fail_on: limits such as
    'time>2%'; see the result's `exceeded`. kernel: a regular expression for the kernels to compare.
    """
    from rocm_perf_lab.comparison.compare import compare as compared
    from rocm_perf_lab.comparison.limits import parsed

    return compared([_path_of(side) for side in (base, *new)], parsed(fail_on), kernel)


def _path_of(side: AnyPath | Run) -> Path:
    if not isinstance(side, Run):
        return Path(side)
    if side.directory is None:
        raise MissingInputError("a run that was loaded from a database has no run directory", "compare the database itself")
    return side.directory


def replay(capture: AnyPath | Capture, **options: Any) -> ReplayResult:
    """Replay a capture made by `rocm-perf isolate`. options: as for rocm_perf_lab.replaying.replay."""
    from rocm_perf_lab.isolate import Capture
    from rocm_perf_lab.replaying import replay as run_replay

    return run_replay(capture if isinstance(capture, Capture) else Path(capture), **options)
