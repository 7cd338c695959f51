"""Exports a reproducer: a folder with one captured dispatch and a small program that runs it and needs nothing but ROCm."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from rocm_perf_lab.errors import OutputError, RocmPerfError
from rocm_perf_lab.isolate.capture_directory import Capture, Region
from rocm_perf_lab.replaying.replay_process import unpack
from rocm_perf_lab.utf8 import utf8

_SOURCES = Path(__file__).parent / "reproducer"
_DEVICE_HEADER = "rocm_perf_device.h"
_HOST_KINDS = ("host", "registered", "managed")


def export(capture: Capture, folder: Path) -> None:
    """Write the reproducer of `capture` to `folder`, which must not exist yet. Raises OutputError, CaptureError.

    The folder is written under a temporary name and renamed when complete.
    """
    if folder.exists():
        raise OutputError(f"{folder} exists", "name a new folder, or remove it")
    partial = folder.with_name(f".{folder.name}.partial")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        unpack(capture, partial / "memory")
        for name in ("kernel.hsaco", "kernarg.bin", "dispatch.json", "memory_regions.json"):
            shutil.copyfile(capture.path / name, partial / name)
        for name in ("reproducer.cpp", "Makefile"):
            shutil.copyfile(_SOURCES / name, partial / name)
        shutil.copyfile(_device_header(), partial / _DEVICE_HEADER)
        (partial / "case.h").write_bytes(utf8(_case_header(capture, partial / "memory")))
        (partial / "README.md").write_bytes(utf8(_readme(capture, folder.name)))
        partial.rename(folder)
    except (OSError, RocmPerfError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        if isinstance(error, OSError):
            raise OutputError(f"{folder} cannot be written: {error.strerror or error}", "choose another folder") from error
        raise


def _device_header() -> Path:
    """The path of the header: in the package or, failing that, in the repository."""
    packaged = _SOURCES / _DEVICE_HEADER
    return packaged if packaged.exists() else Path(__file__).parents[3] / "native" / "device" / "include" / _DEVICE_HEADER


def _text(text: str) -> str:
    """The text as a C string literal: like a JSON string, with non-ASCII characters replaced."""
    return json.dumps(text.encode("ascii", "replace").decode())


def _kind(region: Region, dispatch: dict[str, Any]) -> str:
    if region.kind in _HOST_KINDS:
        return "host"
    loaded = int(dispatch["code_object"]["load_base"], 16)
    return "loaded_code" if region.base <= loaded < region.base + region.bytes else "device"


def _case_header(capture: Capture, memory: Path) -> str:
    dispatch, packet = capture.dispatch, capture.dispatch["packet"]
    rows = "".join(
        f"    {{{region.base:#x}, {region.bytes:#x}, Kind::{_kind(region, dispatch)}, "
        f"{'true' if (memory / f'region_{region.base:x}.after.bin').exists() else 'false'}}},\n"
        for region in capture.regions
    )
    (wx, wy, wz), (gx, gy, gz) = packet["workgroup"], packet["grid"]
    return f"""// Written by rocm-perf replay export.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>

enum class Kind {{ device, host, loaded_code }};
struct Region {{
  uint64_t base, bytes;
  Kind kind;
  bool changed;  // by the kernel
}};

constexpr Region regions[] = {{
{rows}}};

constexpr const char* agent_name = {_text(capture.target)};
constexpr const char* kernel_name = {_text(capture.kernel)};
constexpr const char* kernel_symbol = {_text(capture.symbol + ".kd")};
constexpr uint64_t kernel_object = {packet["kernel_object"]};

inline const hsa_kernel_dispatch_packet_t dispatch = [] {{
  hsa_kernel_dispatch_packet_t packet{{}};
  packet.setup = {packet["setup"]};
  packet.workgroup_size_x = {wx}, packet.workgroup_size_y = {wy}, packet.workgroup_size_z = {wz};
  packet.grid_size_x = {gx}, packet.grid_size_y = {gy}, packet.grid_size_z = {gz};
  packet.private_segment_size = {packet["private_segment_size"]};
  packet.group_segment_size = {packet["group_segment_size"]};
  packet.kernarg_address = reinterpret_cast<void*>({packet["kernarg_address"]});
  return packet;
}}();
"""


def _readme(capture: Capture, name: str) -> str:
    origin, packet = capture.dispatch["origin"], capture.dispatch["packet"]
    missing = "".join(f"- not captured: {text}\n" for text in capture.dispatch["not_captured"] + capture.dispatch["warnings"])
    size = sum(region.bytes for region in capture.regions)
    return f"""# {name}: one dispatch of `{capture.kernel}`

    make            builds the reproducer and runs it
    ./reproducer 100

It needs ROCm (headers and libhsa-runtime64), a {capture.target} and {size / 1e6:.0f} MB of its memory. Use `make ROCM_PATH=DIR`
if ROCm is not in /opt/rocm. Without a GPU it runs on rocm-perf-lab's software device: `rocm-perf run ./reproducer`.

The program maps memory at the captured addresses, loads the code object where it was, dispatches, and compares memory
afterwards. Exit status 0: as captured; 1: different; 2: it cannot run, for instance because addresses are not available.

- kernel: `{capture.symbol}`
- grid {packet["grid"]} work-items in workgroups of {packet["workgroup"]}
- captured from `{origin["program"]}` on {origin["device"] or "a GPU"}: dispatch {origin["dispatch_index"]} that matched
- GPU time then: {capture.gpu_time_ns / 1e6:.6f} ms ({origin["timing"]})
{missing}
Files: `reproducer.cpp` (the program), `case.h` (regions and packet), `memory/` (each region before the kernel, and after it
where it changed), `kernel.hsaco`, `kernarg.bin`, `dispatch.json`, `memory_regions.json`.
"""
