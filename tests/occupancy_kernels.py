"""Kernels with random registers, LDS and workgroup sizes, and what clang reports about their resources."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path

from hip_compiler import compile_hip
from rocm_perf_lab.arch import cdna2, cdna3, cdna4, rdna2
from rocm_perf_lab.arch.occupancy import KernelResources, OccupancyRules

_REMARKS = "-Rpass-analysis=kernel-resource-usage"

# Compiler options and rules for every target and mode.
MODES: dict[str, tuple[list[str], OccupancyRules]] = {
    "gfx942": (["--offload-arch=gfx942"], cdna3.FAMILY.occupancy_rules),
    "gfx90a": (["--offload-arch=gfx90a"], cdna2.FAMILY.occupancy_rules),
    "gfx950": (["--offload-arch=gfx950"], cdna4.FAMILY.occupancy_rules),
    "gfx1030 wave32 WGP": (["--offload-arch=gfx1030"], rdna2.rules(32, wgp_mode=True)),
    "gfx1030 wave32 CU": (["--offload-arch=gfx1030", "-mcumode"], rdna2.rules(32, wgp_mode=False)),
    "gfx1030 wave64 WGP": (["--offload-arch=gfx1030", "-mwavefrontsize64"], rdna2.rules(64, wgp_mode=True)),
    "gfx1030 wave64 CU": (["--offload-arch=gfx1030", "-mwavefrontsize64", "-mcumode"], rdna2.rules(64, wgp_mode=False)),
}


@dataclass(frozen=True)
class Drawn:
    """threads: the size of a workgroup. bound: threads is only an upper bound (__launch_bounds__)."""

    text: str
    threads: int
    bound: bool


def draw_kernels(rules: OccupancyRules, count: int, seed: str) -> list[Drawn]:
    """HIP source of the kernels k0, k1, ...: some use registers by naming them as clobbered, some by needing them."""
    draw = random.Random(seed)
    return [_kernel(number, draw, rules) for number in range(count)]


def source_of(kernels: list[Drawn]) -> str:
    return "#include <hip/hip_runtime.h>\n" + "".join(kernel.text for kernel in kernels)


def compile_and_report(source: Path, output: Path, flags: list[str]) -> list[dict[str, int]]:
    """Compiles with hipcc and returns clang's resource figures for k0, k1, ..., keyed by clang's names."""
    done = compile_hip("-O1", *flags, _REMARKS, source, "-o", output, timeout=900)
    found: dict[str, dict[str, int]] = {}
    for figure, value in re.findall(r"remark: +([^:]+): (\S+) \[-Rpass", done.stderr):
        if figure == "Function Name":
            kernel = found.setdefault(value, {})
        elif value.isdigit():
            kernel[figure] = int(value)
    return [found[f"k{number}"] for number in range(len(found))]


def resources(figures: dict[str, int], threads: int) -> KernelResources:
    """The resources from clang's figures."""
    return KernelResources(
        figures["VGPRs"], figures.get("AGPRs", 0), figures["TotalSGPRs"], figures["LDS Size [bytes/block]"], threads
    )


def _kernel(number: int, draw: random.Random, rules: OccupancyRules) -> Drawn:
    waves = draw.choice([1, 1, 2, 3, 4, 5, 8, 1024 // rules.wave_size])
    threads = waves * rules.wave_size - draw.choice([0, 0, 0, 1, rules.wave_size // 2])
    bound = draw.random() < 0.25
    size = f"__launch_bounds__({threads})" if bound else f"__attribute__((amdgpu_flat_work_group_size({threads},{threads})))"
    budget = min(256, rules.vgprs // -(-waves // rules.simds))
    needs_registers = draw.random() < 0.15
    body, limit = _under_pressure(draw, budget) if needs_registers else (_clobbering(draw, rules, budget), "")
    lds = draw.choice([0, 0, 4, 512, 1000, 4096, 5000, 8192, 8193, 12000, 16384, 22000, 33000, 65536])
    shared = f"__shared__ volatile char s[{lds}]; s[threadIdx.x % {lds}] = 1;" if lds else ""
    text = f'extern "C" __global__ {size} {limit} void k{number}(float* p) {{ {shared} {body} *p = 1; }}\n'
    return Drawn(text, threads, bound)


def _clobbering(draw: random.Random, rules: OccupancyRules, budget: int) -> str:
    """Half of the time, a number of registers near a step of the occupancy."""
    granule = rules.vgpr_granule
    steps = [rules.vgprs // waves // granule * granule for waves in range(1, rules.max_waves_per_simd + 1)]
    near = [step + offset for step in steps for offset in (0, 1) if 4 <= step + offset <= budget]
    vgprs = draw.choice(near) if near and draw.random() < 0.5 else draw.randint(4, budget)
    sgprs = draw.choice([16, 60, 90, 94, 95, 96, 100])
    clobbers = [f'"v{vgprs - 1}"', f'"s{sgprs - 1}"']
    has_agprs = rules.total_vgprs(1, 1) > 1
    if has_agprs and draw.random() < 0.5 and budget > vgprs + 8:
        clobbers.append(f'"a{draw.randint(0, budget - vgprs - 8)}"')
    return f'asm volatile("; use" ::: {", ".join(clobbers)});'


def _under_pressure(draw: random.Random, budget: int) -> tuple[str, str]:
    """Values that are live at the same time, and a register limit that can make the compiler spill."""
    values = draw.randint(8, 64)
    names = [f"x{i}" for i in range(values)]
    loads = "".join(f"float {name} = ((volatile float*)p)[{i}];" for i, name in enumerate(names))
    limit = f"__attribute__((amdgpu_num_vgpr({draw.randint(12, budget)})))" if budget > 12 else ""
    return f"{loads} __builtin_amdgcn_s_barrier(); *p = {' + '.join(names)};", limit
