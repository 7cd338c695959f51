"""Running a program before and after a change of its kernels."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from rocm_perf_lab.hip_source import Edit, HipSource, apply_edits

# By default, hipcc contracts across statements, so after a change the compiler may fuse different products: the gate, not the
# transformation, finds the changes that differ (test_a_change_of_fused_operations_is_rejected).
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942", "-ffp-contract=on")


def results(folder: Path, name: str, text: bytes, rocm_perf_in) -> list[str]:
    """The lines that the program prints on the software device."""
    (folder / f"{name}.hip").write_bytes(text)
    subprocess.run([*COMMAND, f"{name}.hip", "-o", name], cwd=folder, check=True)
    return rocm_perf_in(folder, "run", "--device", "gfx942", f"./{name}").stdout.splitlines()


def same_results(folder: Path, source: HipSource, edits: Sequence[Edit], kernels: int, rocm_perf_in) -> bytes:
    """Each kernel prints three lines, all different: with an input or a kernel without effect, the test would show nothing.

    Returns the changed source.
    """
    changed = apply_edits(source.text, edits)
    assert changed != source.text
    expected = results(folder, "baseline", source.text, rocm_perf_in)
    assert len(expected) == 3 * kernels and len(set(expected)) == len(expected)
    assert results(folder, "candidate", changed, rocm_perf_in) == expected
    return changed
