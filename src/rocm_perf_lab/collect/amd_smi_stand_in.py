"""A stand-in for `amd-smi` that reports the software devices, because profilers ask amd-smi which GPUs are present.

It answers `amd-smi static`, as text and as JSON (in the format of amd-smi 26), with data from the product table. Options that
select a part of the answer are accepted but have no effect; everything else is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rocm_perf_lab.rocpd.software_model_name import SOFTWARE_MODEL

_SCRIPT = """\
#!/bin/sh
# Describes the software devices in the format of AMD's amd-smi.
here=${0%/*}
case " $* " in
  " static "*" --json "*) exec cat "$here/static.json" ;;
  " static "*) exec cat "$here/static.txt" ;;
esac
echo "amd-smi: a software device answers \\`amd-smi static\\` only" >&2
exit 1
"""


def write_amd_smi(folder: Path, product: Mapping[str, Any], count: int) -> Path:
    """Write the program and its answers for `count` devices of `product` (an entry of products.toml) into `folder`, which is
    created; return `folder`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    gpus = [_gpu(product, number) for number in range(count)]
    (folder / "static.json").write_text(json.dumps({"gpu_data": gpus}, indent=4) + "\n")
    (folder / "static.txt").write_text("".join(_text(gpu) + "\n" for gpu in gpus))
    program = folder / "amd-smi"
    program.write_text(_SCRIPT)
    program.chmod(0o755)
    return folder


def _gpu(product: Mapping[str, Any], number: int) -> dict[str, Any]:
    topology = product["topology"]
    return {
        "gpu": number,
        "asic": {
            "market_name": product["name"],
            "vendor_id": "0x1002",
            "vendor_name": "Advanced Micro Devices Inc. [AMD/ATI]",
            "device_id": hex(topology["device_id"]),
            "num_compute_units": topology["simd_count"] // topology["simd_per_cu"],
            "target_graphics_version": product["gfx_target"],
        },
        # rocprof-compute records this up to the first space.
        "vbios": {"name": SOFTWARE_MODEL, "part_number": SOFTWARE_MODEL.replace(" ", "-")},
        "driver": {"name": SOFTWARE_MODEL, "version": "N/A"},
        "vram": {
            "type": "HBM" if product["family"].startswith("cdna") else "GDDR6",
            "size": f"{product['vram_bytes'] >> 20} MB",
        },
        "partition": {"accelerator_partition": "SPX", "memory_partition": "NPS1"},
        "clock": {
            "sys": _levels(topology["max_engine_clk_fcompute"]),
            "mem": _levels(product["hbm_clock_mhz"]),
        },
    }


def _levels(mhz: int) -> dict[str, Any]:
    return {"current_level": 0, "frequency_levels": {"Level 0": f"{mhz} MHz"}}


def _text(gpu: Mapping[str, Any]) -> str:
    facts = {name: entry for name, entry in gpu.items() if name != "gpu"}
    return "\n".join([f"GPU: {gpu['gpu']}", *_indented(facts, "    ")]) + "\n"


def _indented(facts: Mapping[str, Any], margin: str) -> list[str]:
    lines = []
    for name, entry in facts.items():
        nested = isinstance(entry, dict)
        lines.append(f"{margin}{name.upper()}:" + ("" if nested else f" {entry}"))
        lines += _indented(entry, margin + "    ") if nested else []
    return lines
