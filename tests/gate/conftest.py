"""A program for the gate: built and captured once, with a judge that keeps the baseline's outputs."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gate_judge import judge_of
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.judge import GateOptions
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.isolate import Capture, capture
from rocm_perf_lab.isolate.capture_directory import Region

PROGRAM = Path(__file__).with_name("program.hip")
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942", "-Wno-unused-command-line-argument")


@pytest.fixture(scope="session")
def program(tmp_path_factory, hipcc):
    """The parsed source, and captures of both of its dispatches."""
    folder = tmp_path_factory.mktemp("gate")
    subprocess.run([*COMMAND, PROGRAM, "-o", folder / "program"], check=True)
    captures = [capture([str(folder / "program")], "rows", n, folder, device="gfx942") for n in (0, 1)]
    return read(PROGRAM, COMMAND), captures


@pytest.fixture(scope="session")
def judge(program):
    """judge(kernel text, ...) -> Verdict on the program with that text in place of its kernel, without the measurement."""
    baseline, captures = program
    options = GateOptions(
        equivalence=EquivalenceOptions(device="gfx942", instruction_limit=1_000_000, seed=1, race_seeds=(2,)),
        with_measurement=False,
    )
    with judge_of(baseline, "rows", captures, options) as gate:
        yield lambda text: gate.judge(text.encode())


@dataclass(frozen=True)
class CaptureInMemory(Capture):
    """before, after: the contents of regions by address; `after` holds only those that the kernel changes."""

    before: Mapping[int, bytes] = field(default_factory=dict)
    left: Mapping[int, bytes] = field(default_factory=dict)

    def memory(self, address: int, size: int, *, after: bool = False) -> bytes:
        contents = {**self.before, **self.left} if after else self.before
        base = next(base for base, content in contents.items() if base <= address and address + size <= base + len(content))
        return contents[base][address - base : address - base + size]


@pytest.fixture
def in_memory(tmp_path):
    """in_memory({address: content}, {address: content after the kernel}, ...) -> a capture without memory files.

    Each content is a region with one allocation, unless `allocations` has others for its address. kinds: those of regions that
    are not device memory. dispatch: the differences from a dispatch of four workgroups of 64.
    """

    def make(
        before: Mapping[int, bytes],
        left: Mapping[int, bytes] | None = None,
        *,
        kernarg: bytes = bytes(64),
        allocations: Mapping[int, Sequence[tuple[int, int]]] | None = None,
        kinds: Mapping[int, str] | None = None,
        **dispatch: Any,
    ) -> CaptureInMemory:
        (tmp_path / "kernarg.bin").write_bytes(kernarg)
        there = allocations or {}
        regions = tuple(
            Region(base, len(content), (kinds or {}).get(base, "device"), tuple(there.get(base, [(base, len(content))])))
            for base, content in sorted(before.items())
        )
        usual: dict[str, dict[str, Any]] = {
            "kernel": {"name": "k(int*)", "symbol": "_Z1kPi", "group_segment_size": 0},
            "agent": {"name": "gfx942"},
            "origin": {"timing": "modelled", "dispatch_index": 3},
            "packet": {"grid": [256, 1, 1], "workgroup": [64, 1, 1], "group_segment_size": 0, "kernarg_address": "0x9000"},
            "code_object": {"variables": [], "load_delta": 0, "load_base": "0x0"},
        }
        about = {name: one | dispatch.get(name, {}) for name, one in usual.items()} | {
            name: one for name, one in dispatch.items() if name not in usual
        }
        return CaptureInMemory(tmp_path, about, regions, before, left or {})

    return make
