"""compiler_waves_per_simd against clang's own figure, on kernels with drawn registers, LDS and workgroups."""

from __future__ import annotations

import random
import re
import shutil
import subprocess

import pytest

from rocm_perf_lab.arch import cdna2, cdna3, rdna2
from rocm_perf_lab.arch.occupancy import KernelResources, occupancy

MODES = {
    "gfx942": (["--offload-arch=gfx942"], cdna3.FAMILY.occupancy_rules),
    "gfx90a": (["--offload-arch=gfx90a"], cdna2.FAMILY.occupancy_rules),
    "gfx1030 wave32 WGP": (["--offload-arch=gfx1030"], rdna2.rules(32, wgp_mode=True)),
    "gfx1030 wave32 CU": (["--offload-arch=gfx1030", "-mcumode"], rdna2.rules(32, wgp_mode=False)),
    "gfx1030 wave64 WGP": (["--offload-arch=gfx1030", "-mwavefrontsize64"], rdna2.rules(64, wgp_mode=True)),
}
KERNELS = 80


def kernel_source(number: int, draw: random.Random, rules) -> tuple[str, int]:
    """A kernel that uses drawn resources through clobbers, and its workgroup size."""
    waves = draw.choice([1, 1, 2, 3, 4, 5, 8, 1024 // rules.wave_size])
    threads = waves * rules.wave_size - draw.choice([0, 0, 0, 1, rules.wave_size // 2])
    budget = min(256, rules.vgprs // -(-waves // rules.simds))
    vgprs, sgprs = draw.randint(4, budget), draw.choice([16, 60, 90, 94, 95, 96, 100])
    clobbers = [f'"v{vgprs - 1}"', f'"s{sgprs - 1}"']
    if rules.vgprs == 512 and rules.max_waves_per_simd == 8 and draw.random() < 0.5 and budget > vgprs + 8:
        clobbers.append(f'"a{draw.randint(0, budget - vgprs - 8)}"')
    lds = draw.choice([0, 0, 4, 1000, 4096, 5000, 12000, 16384, 22000, 33000, 65536])
    shared = f"__shared__ volatile char s[{lds}]; s[threadIdx.x % {lds}] = 1;" if lds else ""
    return (
        f'extern "C" __global__ __attribute__((amdgpu_flat_work_group_size({threads},{threads}))) '
        f'void k{number}(int* p) {{ {shared} asm volatile("; use" ::: {", ".join(clobbers)}); *p = 1; }}\n',
        threads,
    )


def remarks(source: str, flags: list[str], folder) -> dict[str, dict[str, int]]:
    """kernel -> figure -> value, as clang reports them."""
    path = folder / "kernels.hip"
    path.write_text("#include <hip/hip_runtime.h>\n" + source)
    command = ["hipcc", "-O1", *flags, "--offload-device-only", "-Rpass-analysis=kernel-resource-usage", "-c", path]
    done = subprocess.run([*command, "-o", folder / "kernels.o"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, dict[str, int]] = {}
    for figure, value in re.findall(r"remark: +([^:]+): (\S+) \[-Rpass", done.stderr):
        if figure == "Function Name":
            kernel = found.setdefault(value, {})
        elif value.isdigit():
            kernel[figure] = int(value)
    return found


@pytest.mark.skipif(shutil.which("hipcc") is None, reason="no hipcc")
@pytest.mark.parametrize("mode", MODES)
def test_compiler_waves_are_what_clang_prints(mode, tmp_path):
    flags, rules = MODES[mode]
    draw = random.Random(mode)
    kernels = [kernel_source(number, draw, rules) for number in range(KERNELS)]
    reported = remarks("".join(source for source, _ in kernels), flags, tmp_path)
    assert len(reported) == KERNELS
    wrong, seen = [], set()
    for number, (_, threads) in enumerate(kernels):
        figures = reported[f"k{number}"]
        resources = KernelResources(
            figures["VGPRs"], figures.get("AGPRs", 0), figures["TotalSGPRs"], figures["LDS Size [bytes/block]"], threads
        )
        ours = occupancy(rules, resources).compiler_waves_per_simd
        seen.add(figures["Occupancy [waves/SIMD]"])
        if ours != figures["Occupancy [waves/SIMD]"]:
            wrong.append((resources, ours, figures["Occupancy [waves/SIMD]"]))
    assert not wrong
    assert len(seen) >= 5, "the drawn kernels must not all have the same occupancy"
