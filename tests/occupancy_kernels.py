"""Kernels with drawn registers, LDS and workgroup sizes, and what clang says of their resources."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

from rocm_perf_lab.arch.occupancy import KernelResources, OccupancyRules

_REMARKS = "-Rpass-analysis=kernel-resource-usage"


def draw_kernels(rules: OccupancyRules, count: int, seed: str) -> tuple[str, list[int]]:
    """HIP source of the kernels k0, k1, ... and the workgroup size of each."""
    draw = random.Random(seed)
    kernels = [_kernel(number, draw, rules) for number in range(count)]
    source = "#include <hip/hip_runtime.h>\n" + "".join(text for text, _ in kernels)
    return source, [threads for _, threads in kernels]


def compile_and_report(source: Path, output: Path, flags: list[str]) -> list[dict[str, int]]:
    """Compiles with hipcc; clang's resource figures for k0, k1, ... by clang's names."""
    command = ["hipcc", "-O1", *flags, _REMARKS, source, "-o", output]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, dict[str, int]] = {}
    for figure, value in re.findall(r"remark: +([^:]+): (\S+) \[-Rpass", done.stderr):
        if figure == "Function Name":
            kernel = found.setdefault(value, {})
        elif value.isdigit():
            kernel[figure] = int(value)
    return [found[f"k{number}"] for number in range(len(found))]


def resources(figures: dict[str, int], threads: int) -> KernelResources:
    """The resources in clang's figures."""
    return KernelResources(
        figures["VGPRs"], figures.get("AGPRs", 0), figures["TotalSGPRs"], figures["LDS Size [bytes/block]"], threads
    )


def _kernel(number: int, draw: random.Random, rules: OccupancyRules) -> tuple[str, int]:
    """A kernel that takes its registers by naming them as clobbered."""
    waves = draw.choice([1, 1, 2, 3, 4, 5, 8, 1024 // rules.wave_size])
    threads = waves * rules.wave_size - draw.choice([0, 0, 0, 1, rules.wave_size // 2])
    budget = min(256, rules.vgprs // -(-waves // rules.simds))
    vgprs, sgprs = draw.randint(4, budget), draw.choice([16, 60, 90, 94, 95, 96, 100])
    clobbers = [f'"v{vgprs - 1}"', f'"s{sgprs - 1}"']
    has_agprs = rules.total_vgprs(1, 1) > 1
    if has_agprs and draw.random() < 0.5 and budget > vgprs + 8:
        clobbers.append(f'"a{draw.randint(0, budget - vgprs - 8)}"')
    lds = draw.choice([0, 0, 4, 1000, 4096, 5000, 12000, 16384, 22000, 33000, 65536])
    shared = f"__shared__ volatile char s[{lds}]; s[threadIdx.x % {lds}] = 1;" if lds else ""
    return (
        f'extern "C" __global__ __attribute__((amdgpu_flat_work_group_size({threads},{threads}))) '
        f'void k{number}(int* p) {{ {shared} asm volatile("; use" ::: {", ".join(clobbers)}); *p = 1; }}\n',
        threads,
    )
