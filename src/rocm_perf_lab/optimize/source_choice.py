"""Chooses among several sources with kernels: the one that defines the kernel that takes most of the program's time."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source.demangle import qualified_name
from rocm_perf_lab.kernel_pattern import fits
from rocm_perf_lab.optimize.backend import BackendOptions

if TYPE_CHECKING:
    from rocm_perf_lab.report.documents import Reports

Choose = Callable[[Path, Sequence[str], Sequence[Path]], Path | None]
"""choose(program, its arguments, the sources): one of the sources, or None if nothing tells them apart."""


def by_time(options: BackendOptions, note: Callable[[str], None]) -> Choose:
    """Runs the program as it is. options: its pattern limits the kernels that count.

    Errors: those of profile.session.profile().
    """

    def choose(program: Path, arguments: Sequence[str], sources: Sequence[Path]) -> Path | None:
        if not program.is_file():
            return None
        note(f"{len(sources)} sources of {program} have kernels: running it once, to see which kernel takes the time")
        for kernel, share in _by_share(_profiled(program, arguments, options, note), options.pattern):
            if len(found := [path for path in sources if _defines(path, kernel)]) == 1:
                note(f"{found[0]} has {kernel}, {share:.0%} of the critical path; --source chooses another one")
                return found[0]
        return None

    return choose


def _profiled(program: Path, arguments: Sequence[str], options: BackendOptions, note: Callable[[str], None]) -> Reports:
    from rocm_perf_lab.profile.request import ProfileRequest
    from rocm_perf_lab.profile.session import profile

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


def _by_share(reports: Reports, pattern: str | None) -> Iterator[tuple[str, float]]:
    """Kernels of the program, with their share of the critical path, largest first."""
    symbols = {one.kernel: one.symbol for one in reports.analysis.kernels}
    for one in sorted(reports.dag.symbols, key=lambda one: -(one.fraction or 0)):
        if one.fraction is not None and one.kernel in symbols and fits(pattern, one.kernel, symbols[one.kernel]):
            yield one.kernel, one.fraction


def _defines(source: Path, kernel: str) -> bool:
    """Whether the text looks like it; what is read afterwards decides."""
    name = re.escape(qualified_name(kernel).rsplit("::", 1)[-1].encode())
    return re.search(rb"__global__[^;{}]*\b%s\s*\(" % name, source.read_bytes()) is not None
