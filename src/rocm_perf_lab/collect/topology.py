"""Writes the topology folder of the software device: /sys/class/kfd/kfd/topology as on a machine with the GPUs it models.

ROCr's requirements, found by experimenting with 7.2.4: a GPU's `gpu_id` is its node id + 1; GPU cache entries must exist;
`num_sdma_engines` must be 2 (with 0, hipMemcpy2D crashes in a division), and the number of XGMI engines must be 0 (copies
between GPUs use the ordinary engines here); `capability` must contain doorbell type 2 and neither debugger bit (15, 29),
otherwise ROCr aborts. `product_name` is read only by the software device.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rocm_perf_lab.rocpd.software_model_name import SOFTWARE_MODEL

_CPU_NODE, _FIRST_GPU_NODE = 0, 1
_HEAP_SYSTEM, _HEAP_VRAM = 0, 1
_LINK_PCIE, _LINK_XGMI = 2, 11  # HSA_IOLINKTYPE of hsakmttypes.h
_LINK_OVERRIDE, _LINK_NO_ATOMICS_32, _LINK_NO_ATOMICS_64 = 1, 4, 8  # HSA_LINKPROPERTY of hsakmttypes.h
_CACHE_DATA_AND_SIMD = 9
_FIRST_PCI_BUS = 3  # the bus of the first GPU; each GPU is device 0, function 0 of its own bus
_PCI_BUS = 0x100  # what one bus adds to a location id
_FIRST_RENDER_MINOR = 128
_HIVE = 0x726F636D  # any number: GPUs of the same hive reach each other over XGMI

_PCIE_MIN_MBPS, _PCIE_MAX_MBPS = 312, 64000  # as the driver reports for a PCIe 5.0 x16 link
_PCIE_WEIGHT, _XGMI_WEIGHT = 20, 15  # Linux amdkfd, kfd_crat.c: KFD_CRAT_INTRA_SOCKET_WEIGHT, and XGMI's weight per hop


def write_topology(folder: Path, product: Mapping[str, Any], count: int, link_gbps: int) -> Path:
    """Write the topology of `count` GPUs of `product` (an entry of products.toml with tables `topology` and `peers`) under
    `folder`; return `folder`. link_gbps: the bandwidth of the link between any two of them, in each direction.
    """
    gpus = range(_FIRST_GPU_NODE, _FIRST_GPU_NODE + count)
    files = {"amdgpu/initstate": "live\n", "amdgpu/version": f"{SOFTWARE_MODEL}\n", "kfd": ""}  # see preload/kernel_driver.cpp
    files |= {"generation_id": "2\n", "system_properties": _lines(platform_oem=0, platform_id=0, platform_rev=0)}
    files |= _node(_CPU_NODE, _cpu_properties(), _system_memory(), [], [_host_link(_CPU_NODE, gpu) for gpu in gpus])
    for gpu in gpus:
        peers = (_peer_link(gpu, peer, product["peers"]["xgmi"], link_gbps) for peer in gpus if peer != gpu)
        links = [_host_link(gpu, _CPU_NODE), *peers]
        files |= _node(gpu, _gpu_properties(product, gpu, count), _device_memory(product), _caches(product), links)
        files[f"nodes/{gpu}/product_name"] = f"{product['name']}\n"
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def _node(
    node: int,
    properties: dict[str, int],
    memory: dict[str, int],
    caches: list[dict[str, int]],
    links: list[dict[str, int]],
) -> dict[str, str]:
    prefix = f"nodes/{node}"
    is_gpu = properties["simd_count"] > 0
    counts = dict(mem_banks_count=1, caches_count=len(caches), io_links_count=len(links), p2p_links_count=0)
    files = {
        f"{prefix}/gpu_id": f"{node + 1 if is_gpu else 0}\n",
        f"{prefix}/name": f"{SOFTWARE_MODEL}\n" if is_gpu else "\n",
        f"{prefix}/properties": _lines(**properties, **counts),
        f"{prefix}/mem_banks/0/properties": _lines(**memory),
    }
    files |= {f"{prefix}/io_links/{i}/properties": _lines(**link) for i, link in enumerate(links)}
    return files | {f"{prefix}/caches/{i}/properties": _lines(**cache) for i, cache in enumerate(caches)}


def _cpu_properties() -> dict[str, int]:
    return dict(
        cpu_cores_count=os.cpu_count() or 1, simd_count=0, cpu_core_id_base=0, simd_id_base=0, max_waves_per_simd=0,
        lds_size_in_kb=0, gds_size_in_kb=0, num_gws=0, wave_front_size=0, array_count=0, simd_arrays_per_engine=0,
        cu_per_simd_array=0, simd_per_cu=0, max_slots_scratch_cu=0, gfx_target_version=0, vendor_id=0, device_id=0,
        location_id=0, domain=0, drm_render_minor=0, hive_id=0, num_sdma_engines=0, num_sdma_xgmi_engines=0,
        num_sdma_queues_per_engine=0, num_cp_queues=0, max_engine_clk_ccompute=3000,
    )  # fmt: skip


def _gpu_properties(product: Mapping[str, Any], node: int, count: int) -> dict[str, int]:
    index = node - _FIRST_GPU_NODE
    machine = dict(
        cpu_cores_count=0, cpu_core_id_base=0, location_id=(_FIRST_PCI_BUS + index) * _PCI_BUS, domain=0,
        drm_render_minor=_FIRST_RENDER_MINOR + index, hive_id=_HIVE if count > 1 and product["peers"]["xgmi"] else 0,
        local_mem_size=0, fw_version=177, sdma_fw_version=24, debug_prop=1495, unique_id=index + 1,
        max_engine_clk_ccompute=3000,
    )  # fmt: skip
    topology: dict[str, int] = product["topology"]
    return machine | topology


def _system_memory() -> dict[str, int]:
    size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return dict(heap_type=_HEAP_SYSTEM, size_in_bytes=size, flags=0, width=64, mem_clk_max=3200)


def _device_memory(product: Mapping[str, Any]) -> dict[str, int]:
    return dict(
        heap_type=_HEAP_VRAM,
        size_in_bytes=product["vram_bytes"],
        flags=0,
        width=product["hbm_width_bits"],
        mem_clk_max=product["hbm_clock_mhz"],
    )


def _caches(product: Mapping[str, Any]) -> list[dict[str, int]]:
    levels = [("l1_bytes_per_cu", "l1_line_bytes"), ("l2_bytes_per_xcd", "l2_line_bytes"), ("mall_bytes", "mall_line_bytes")]
    return [
        dict(
            processor_id_low=product["topology"]["simd_id_base"], level=level, size=product[size] // 1024,
            cache_line_size=product[line], cache_lines_per_tag=1, association=0, latency=0, type=_CACHE_DATA_AND_SIMD,
            sibling_map=1,
        )
        for level, (size, line) in enumerate(levels, start=1) if size in product
    ]  # fmt: skip


def _host_link(node: int, peer: int) -> dict[str, int]:
    no_atomics = _LINK_NO_ATOMICS_32 | _LINK_NO_ATOMICS_64 if node == _CPU_NODE else 0
    return _link(node, peer, _LINK_PCIE, _PCIE_WEIGHT, _PCIE_MAX_MBPS, _LINK_OVERRIDE | no_atomics)


def _peer_link(node: int, peer: int, xgmi: bool, gbps: int) -> dict[str, int]:
    kind, weight = (_LINK_XGMI, _XGMI_WEIGHT) if xgmi else (_LINK_PCIE, 2 * _PCIE_WEIGHT)
    return _link(node, peer, kind, weight, gbps * 1000, _LINK_OVERRIDE)


def _link(node: int, peer: int, kind: int, weight: int, max_mbps: int, flags: int) -> dict[str, int]:
    return dict(
        type=kind, version_major=0, version_minor=0, node_from=node, node_to=peer, weight=weight, min_latency=0,
        max_latency=0, min_bandwidth=_PCIE_MIN_MBPS, max_bandwidth=max_mbps, recommended_transfer_size=0, flags=flags,
    )  # fmt: skip


def _lines(**properties: int) -> str:
    return "".join(f"{name} {value}\n" for name, value in properties.items())
