"""resident_workgroups_per_cu against hipOccupancyMaxActiveBlocksPerMultiprocessor.

On the software gfx942 the real HIP runtime answers. It has no code for other targets there; for those the runtime's rules
stand in, as read in ROCm/clr (hip_platform.cpp, rocdevice.cpp) and checked here against the runtime's own answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from occupancy_kernels import MODES, Drawn, compile_and_report, draw_kernels, resources, source_of
from rocm_perf_lab.arch import cdna3
from rocm_perf_lab.arch.occupancy import KernelResources, OccupancyRules, occupancy


@dataclass(frozen=True)
class Hip:
    """HIP's figures for a target."""

    waves_per_simd: int
    simds: int
    vgprs: int
    vgpr_granule: int
    sgprs: int | None  # per SIMD; None where each wave has its own
    lds_bytes: int = 64 * 1024  # what the driver reports for a workgroup, also in WGP mode

    def blocks(self, kernel: KernelResources, vgprs: int, wave_size: int) -> int:
        """Threads that the registers allow over threads of a whole workgroup; LDS divided without granules."""
        waves = min(self.waves_per_simd, self.vgprs // _up(vgprs, self.vgpr_granule))
        if self.sgprs:
            waves = min(waves, self.sgprs // _up(kernel.sgprs, 16))
        blocks = self.simds * waves * wave_size // _up(kernel.workgroup_size, wave_size)
        return min(blocks, self.lds_bytes // kernel.lds_bytes) if kernel.lds_bytes else blocks


def _up(value: int, granule: int) -> int:
    return -(-value // granule) * granule


HIP = {
    "gfx942": Hip(8, 4, 512, 8, 800),
    "gfx90a": Hip(8, 4, 512, 8, 800),
    "gfx950": Hip(8, 4, 512, 8, 800, 160 * 1024),
    "gfx1030 wave32 WGP": Hip(16, 4, 1024, 16, None),
    "gfx1030 wave32 CU": Hip(16, 2, 1024, 16, None),
    "gfx1030 wave64 WGP": Hip(16, 4, 512, 8, None),
    "gfx1030 wave64 CU": Hip(16, 2, 512, 8, None),
}


def as_hip(rules: OccupancyRules) -> OccupancyRules:
    """There are two differences: HIP does not round LDS up to what the hardware allocates, and knows half of a WGP's LDS."""
    whole_wgp = rules.lds_bytes == 128 * 1024
    return replace(rules, lds_granule=1, lds_bytes=64 * 1024 if whole_wgp else rules.lds_bytes)


@pytest.mark.usefixtures("hipcc")
def test_resident_workgroups_are_what_hip_returns(native_dir, rocm_perf, tmp_path):
    flags, rules = MODES["gfx942"]
    kernels = [drawn for drawn in draw_kernels(rules, 160, "hip")]
    dynamic_lds = [(number % 5) * 1111 if number % 3 == 0 else 0 for number in range(len(kernels))]
    queries = "".join(
        f"if (hipOccupancyMaxActiveBlocksPerMultiprocessor(&n, (const void*)k{number}, {drawn.threads}, {extra})) return 1;\n"
        'printf("%d\\n", n);\n'
        for number, (drawn, extra) in enumerate(zip(kernels, dynamic_lds, strict=True))
    )
    (tmp_path / "query.hip").write_text(f"#include <cstdio>\n{source_of(kernels)}int main() {{ int n;\n{queries} }}\n")
    reported = compile_and_report(tmp_path / "query.hip", tmp_path / "query", flags)
    done = rocm_perf("run", "--device", "gfx942", tmp_path / "query")
    assert done.returncode == 0, done.stderr
    hip = [int(line) for line in done.stdout.split()]
    taken = [_taken(*point) for point in zip(reported, kernels, dynamic_lds, strict=True)]
    assert [occupancy(as_hip(rules), kernel).resident_workgroups_per_cu for kernel in taken] == hip
    by_its_rules = [
        HIP["gfx942"].blocks(kernel, rules.total_vgprs(kernel.arch_vgprs, kernel.accum_vgprs), 64) for kernel in taken
    ]
    assert by_its_rules == hip
    assert len(set(hip)) >= 8, "the drawn kernels must not all have the same occupancy"


def _taken(figures: dict[str, int], drawn: Drawn, dynamic_lds: int) -> KernelResources:
    kernel = resources(figures, drawn.threads)
    return replace(kernel, lds_bytes=kernel.lds_bytes + dynamic_lds)


kernels_of_any_kind = st.builds(
    KernelResources,
    arch_vgprs=st.integers(1, 256),
    accum_vgprs=st.integers(0, 256),
    sgprs=st.integers(1, 106),
    lds_bytes=st.integers(0, 65536),
    workgroup_size=st.integers(1, 1024),
)


@pytest.mark.parametrize("mode", MODES)
@given(kernel=kernels_of_any_kind)
def test_every_mode_follows_hip_s_rules(mode, kernel):
    rules = MODES[mode][1]
    vgprs = rules.total_vgprs(kernel.arch_vgprs, kernel.accum_vgprs)
    assert occupancy(as_hip(rules), kernel).resident_workgroups_per_cu == HIP[mode].blocks(kernel, vgprs, rules.wave_size)


@pytest.mark.parametrize("mode", MODES)
@given(kernel=kernels_of_any_kind)
def test_the_hardware_s_granules_never_allow_more_than_hip_but_for_the_other_half_of_a_wgp_s_lds(mode, kernel):
    rules = MODES[mode][1]
    ours = occupancy(replace(rules, lds_bytes=as_hip(rules).lds_bytes), kernel).resident_workgroups_per_cu
    hip = occupancy(as_hip(rules), kernel).resident_workgroups_per_cu
    assert ours <= hip
    if kernel.lds_bytes % rules.lds_granule == 0:
        assert ours == hip


def test_sgprs_from_97_on_leave_seven_waves_to_hip_and_eight_to_clang_up_to_100():
    rules = cdna3.FAMILY.occupancy_rules
    for sgprs in range(90, 107):
        found = occupancy(rules, KernelResources(8, 0, sgprs, 0, 64))
        assert found.resident_waves_per_cu == 4 * (8 if sgprs <= 96 else 7)
        assert found.compiler_waves_per_simd == (8 if sgprs <= 100 else 7)
