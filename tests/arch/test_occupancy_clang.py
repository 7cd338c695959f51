"""compiler_waves_per_simd against clang's own figure, on kernels with drawn registers, LDS and workgroups."""

from __future__ import annotations

import shutil

import pytest

from occupancy_kernels import compile_and_report, draw_kernels, resources
from rocm_perf_lab.arch import cdna2, cdna3, rdna2
from rocm_perf_lab.arch.occupancy import occupancy

MODES = {
    "gfx942": (["--offload-arch=gfx942"], cdna3.FAMILY.occupancy_rules),
    "gfx90a": (["--offload-arch=gfx90a"], cdna2.FAMILY.occupancy_rules),
    "gfx1030 wave32 WGP": (["--offload-arch=gfx1030"], rdna2.rules(32, wgp_mode=True)),
    "gfx1030 wave32 CU": (["--offload-arch=gfx1030", "-mcumode"], rdna2.rules(32, wgp_mode=False)),
    "gfx1030 wave64 WGP": (["--offload-arch=gfx1030", "-mwavefrontsize64"], rdna2.rules(64, wgp_mode=True)),
}
KERNELS = 80


@pytest.mark.skipif(shutil.which("hipcc") is None, reason="no hipcc")
@pytest.mark.parametrize("mode", MODES)
def test_compiler_waves_are_what_clang_prints(mode, tmp_path):
    flags, rules = MODES[mode]
    source, threads = draw_kernels(rules, KERNELS, mode)
    (tmp_path / "kernels.hip").write_text(source)
    flags = [*flags, "--offload-device-only", "-c"]
    reported = compile_and_report(tmp_path / "kernels.hip", tmp_path / "kernels.o", flags)
    assert len(reported) == KERNELS
    clang = [figures["Occupancy [waves/SIMD]"] for figures in reported]
    ours = [
        occupancy(rules, resources(figures, size)).compiler_waves_per_simd
        for figures, size in zip(reported, threads, strict=True)
    ]
    assert ours == clang
    assert len(set(clang)) >= 5, "the drawn kernels must not all have the same occupancy"
