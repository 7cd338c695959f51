"""CDNA4: gfx950 (MI355X, MI350X)."""

from __future__ import annotations

from dataclasses import replace

from rocm_perf_lab.arch import cdna3, cdna_flops, cdna_occupancy

# gfx950 also has the gfx942 counters that the formulas need (rocprofiler-sdk, counter_defs.yaml).
FAMILY = replace(
    cdna3.FAMILY,
    name="cdna4",
    targets=("gfx950",),
    # LLVM AMDGPUBaseInfo.cpp: 160 KiB of LDS in granules of 320 dwords.
    occupancy_rules=replace(cdna_occupancy.RULES, lds_bytes=160 * 1024, lds_granule=1280),
    flops={**cdna3.FAMILY.flops, ("f6f4", "mfma"): cdna_flops.mfma_flops_f6f4},
    # MI355X data sheet, TFLOPS at 2400 MHz over 256 CUs: vector 78.6 (F64), 157.3 (F32, F16); matrix 78.6 (F64), 157.3 (F32),
    # 2516.6 (F16, BF16), 5033.2 (F8, I8), 10066.3 (F6, F4). Packed math, which doubles the rate of the VALU, is
    # assumed for F16 but not for F32.
    peak_ops_per_clock_and_cu={
        ("f16", "valu"): 256,
        ("f32", "valu"): 128,
        ("f64", "valu"): 128,
        ("f6f4", "mfma"): 16384,
        ("f8", "mfma"): 8192,
        ("f16", "mfma"): 4096,
        ("bf16", "mfma"): 4096,
        ("f32", "mfma"): 256,
        ("f64", "mfma"): 128,
        ("i8", "mfma"): 8192,
    },
    lds_bytes_per_workgroup=160 * 1024,
    # rocprofiler-compute, gfx950 speed-of-light panel: as on gfx942. AMD's CDNA 4 white paper says that LDS reads are twice as
    # fast; what the LDS counters count in that case is not published.
    l2_bytes_per_clock_and_xcd=2048,
    cu_bytes_per_clock={"L1": 128, "LDS": 128},
)
