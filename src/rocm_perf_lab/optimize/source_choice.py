"""Chooses among several sources with kernels: picks the one whose kernel takes the largest share of the program's time."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf_lab.analysis.dag import RUNTIME
from rocm_perf_lab.hip_source.demangle import qualified_name
from rocm_perf_lab.hip_source.kernels_by_text import defined_kernels
from rocm_perf_lab.kernel_pattern import fits
from rocm_perf_lab.optimize.backend import BackendOptions
from rocm_perf_lab.optimize.targets import no_kernel_fits

if TYPE_CHECKING:
    from rocm_perf_lab.report.documents import CoreDocuments

Choose = Callable[[Path, Sequence[str], Sequence[Path]], Path | None]
"""choose(program, its arguments, the sources) returns one of the sources, or None if nothing distinguishes them."""


def by_time(options: BackendOptions, note: Callable[[str], None]) -> Choose:
    """Chooses by running the program as it was built. options: options.pattern limits which kernels count.

    Raises UsageError if the pattern matches none of the program's kernels, and whatever profiling.session.profile() raises.
    """

    def choose(program: Path, arguments: Sequence[str], sources: Sequence[Path]) -> Path | None:
        if not program.is_file():
            return None
        note(f"{len(sources)} sources of {program} have kernels: running it once, to see which kernel takes the time")
        return _source_of_dominant_kernel(_profile_program(program, arguments, options, note), options.pattern, sources, note)

    return choose


def by_reports(reports: Callable[[], CoreDocuments], pattern: str | None, note: Callable[[str], None]) -> Choose:
    """Like by_time(), but uses an earlier profile of the program. Raises the same UsageError, and whatever reports() raises."""
    return lambda _program, _arguments, sources: _source_of_dominant_kernel(reports(), pattern, sources, note)


def _source_of_dominant_kernel(
    reports: CoreDocuments, pattern: str | None, sources: Sequence[Path], note: Callable[[str], None]
) -> Path | None:
    """Raises UsageError if the pattern matches none of the program's kernels."""
    kernels = dict(_kernels_by_share(reports))
    symbols = {analysis.kernel: analysis.symbol for analysis in reports.analysis.kernels}
    wanted = [kernel for kernel in kernels if fits(pattern, kernel, symbols[kernel])]
    if pattern is not None and not wanted:
        raise no_kernel_fits(pattern, list(kernels))
    for kernel in wanted:
        if len(matches := [path for path in sources if _defines(path, kernel)]) == 1:
            note(f"{matches[0]} has {kernel}, {kernels[kernel]:.0%} of the critical path; --source chooses another one")
            return matches[0]
    return None


def _profile_program(
    program: Path, arguments: Sequence[str], options: BackendOptions, note: Callable[[str], None]
) -> CoreDocuments:
    from rocm_perf_lab.profiling.request import ProfileRequest
    from rocm_perf_lab.profiling.session import profile

    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as scratch:
        request = ProfileRequest(
            [str(program.absolute()), *arguments],
            runs=1,
            device=options.device,
            destination=Path(scratch, "profile"),
            timeout=options.timeout,
            roofline=False,
            deep_analysis=False,
        )
        return profile(request, subprocess.DEVNULL, note)[0]


def _kernels_by_share(reports: CoreDocuments) -> Iterator[tuple[str, float]]:
    """The program's own kernels with their shares of the critical path, largest first."""
    own = {analysis.kernel for analysis in reports.analysis.kernels}
    for symbol in sorted(reports.dag.symbols, key=lambda symbol: -(symbol.fraction or 0)):
        if symbol.kind != RUNTIME and symbol.fraction is not None and symbol.kernel in own:
            yield symbol.kernel, symbol.fraction


def _defines(source: Path, kernel: str) -> bool:
    return qualified_name(kernel).rsplit("::", 1)[-1] in defined_kernels(source.read_bytes())
