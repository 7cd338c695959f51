"""compiler_waves_per_simd against clang's own figure, on kernels with random registers, LDS and workgroups."""

from __future__ import annotations

from dataclasses import replace

import pytest

from occupancy_kernels import MODES, Drawn, compile_and_report, draw_kernels, resources, source_of
from rocm_perf_lab.arch.occupancy import KernelResources, Occupancy, OccupancyRules, occupancy

pytestmark = pytest.mark.usefixtures("hipcc")


def compiler_waves(rules: OccupancyRules, kernel: KernelResources, drawn: Drawn) -> int:
    """For a launch bound, clang compares the largest with the smallest size, and searches those between if the smallest has
    more."""

    def of(size: int) -> Occupancy:
        return occupancy(rules, replace(kernel, workgroup_size=size))

    def without_registers(size: int) -> int:
        waves = -(-size // rules.wave_size)
        by_lds = rules.lds_bytes // max(kernel.lds_bytes, 1)
        return waves * min(of(size).limits["workgroup slots"] // waves, by_lds)

    sizes = [drawn.threads]
    if drawn.bound and without_registers(1) > without_registers(drawn.threads):
        sizes += range(rules.wave_size, drawn.threads, rules.wave_size)
    return max(of(size).compiler_waves_per_simd for size in sizes)


def compare_with_clang(mode: str, count: int, folder) -> None:
    flags, rules = MODES[mode]
    kernels = draw_kernels(rules, count, mode)
    (folder / "kernels.hip").write_text(source_of(kernels))
    reported = compile_and_report(folder / "kernels.hip", folder / "kernels.o", [*flags, "--offload-device-only", "-c"])
    assert len(reported) == count
    wrong = []
    for number, (figures, drawn) in enumerate(zip(reported, kernels, strict=True)):
        ours = compiler_waves(rules, resources(figures, drawn.threads), drawn)
        if ours != figures["Occupancy [waves/SIMD]"]:
            wrong.append((number, ours, figures, drawn.text))
    assert not wrong, wrong[:3]
    assert len({figures["Occupancy [waves/SIMD]"] for figures in reported}) >= 5, "the kernels must not be all alike"


@pytest.mark.parametrize("mode", MODES)
def test_compiler_waves_are_what_clang_prints(mode, tmp_path):
    compare_with_clang(mode, 160, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_compiler_waves_of_many_kernels(mode, tmp_path):
    compare_with_clang(mode, 1500, tmp_path)
