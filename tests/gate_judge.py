"""Judges of small programs, built as the optimizer's workbench builds them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from rocm_perf_lab.gate.judge import GateOptions, Judge
from rocm_perf_lab.gate.reader import Reader
from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.isolate import Capture
from rocm_perf_lab.optimize.compile import SourceBuilder


@contextlib.contextmanager
def judge_of(baseline: HipSource, kernel: str, captures: Sequence[Capture], options: GateOptions) -> Iterator[Judge]:
    with Reader(baseline) as reader, Judge(baseline, kernel, captures, SourceBuilder("gfx942"), reader, options) as judge:
        yield judge
