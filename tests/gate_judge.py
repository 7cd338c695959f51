"""Judges for small programs, built as the optimizer's workbench builds them."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.judge import GateOptions, Judge
from rocm_perf_lab.gate.source.candidate_reader import CandidateReader
from rocm_perf_lab.gate.verdict import Verdict
from rocm_perf_lab.hip_source import HipSource, read
from rocm_perf_lab.isolate import Capture, capture
from rocm_perf_lab.optimize.builders import SourceBuilder


@contextlib.contextmanager
def judge_of(baseline: HipSource, kernel: str, captures: Sequence[Capture], options: GateOptions) -> Iterator[Judge]:
    with (
        CandidateReader(baseline) as reader,
        Judge(baseline, kernel, captures, SourceBuilder("gfx942"), reader, options) as judge,
    ):
        yield judge


@contextlib.contextmanager
def judging_kernels(source: Path, command: Sequence[str], folder: Path) -> Iterator[Callable[[str, str], Verdict]]:
    """judge(kernel, source text) -> Verdict; the program is built once, each kernel's first dispatch captured once.

    As in the optimizer, all kernels share the builder, which remembers the baseline's images, and the parser process.
    """
    subprocess.run([*command, source, "-o", folder / "program"], check=True)
    baseline = read(source, command)
    equivalence = EquivalenceOptions(device="gfx942", instruction_limit=1_000_000, seed=1, race_seeds=(2,))
    options = GateOptions(equivalence=equivalence, with_measurement=False)
    judges: dict[str, Judge] = {}
    builder = SourceBuilder("gfx942")

    def judged(kernel: str, text: str) -> Verdict:
        if kernel not in judges:
            place = folder / kernel
            place.mkdir()
            one = capture([str(folder / "program")], rf"\b{kernel}\b", 0, place, device="gfx942")
            judges[kernel] = stack.enter_context(Judge(baseline, kernel, [one], builder, reader, options))
        return judges[kernel].judge(text.encode())

    with CandidateReader(baseline) as reader, contextlib.ExitStack() as stack:
        yield judged
