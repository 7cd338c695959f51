"""What capturing and replaying cost: against dd to the same folder, memcpy, and a bare loop of launches of the same kernel.

    python benchmarks/replay.py [--sizes 1M,100M,4G] [--launches N] [--folder DIR] [--rounds N]

The program has one buffer of random bytes; its kernel changes a word in every page, so that each iteration must restore all
of them. All peers run in the same minutes on the same machine; sizes from 1 GiB on in one round only. Prints JSON; figures
are medians of the rounds, with the smallest and the largest beside them.

capture: bytes written before the kernel, per second, in the program's own process, zeros and repetitions not counted; dd: as
many bytes of zeros to the same folder, in blocks of 16 MiB. Neither waits for the disk itself where the page cache has room.
restore: the buffer's bytes per second, of bringing memory back between iterations; memcpy: a copy as large.
iterations: replayed with restoring, without (--no-recopy), and launched by the HIP program, each with its wait.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import mmap
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from rocm_perf_lab import native
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.isolate import newest
from rocm_perf_lab.replaying import replay

PROGRAM = Path(__file__).with_name("replay_load.hip")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
BLOCK = 16 << 20
LARGE, LAUNCHES_OF_LARGE = 1 << 30, 3  # a round of gigabytes takes minutes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1M,100M,4G")
    parser.add_argument("--launches", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="on the disk to write to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        print(json.dumps(measure(Path(folder), options), indent=2))


def measure(folder: Path, options: argparse.Namespace) -> dict:
    device = devices.select(devices.AUTO, folder)
    program = folder / "load"
    subprocess.run(["hipcc", f"--offload-arch={device.target}", "-O3", "-o", program, PROGRAM], check=True, capture_output=True)
    sizes = [int(text[:-1]) * UNITS[text[-1].upper()] for text in options.sizes.split(",")]
    return {
        "device": device.description,
        "sizes": [measure_size(folder, device, program, size, options) for size in sizes],
    }


def measure_size(folder: Path, device: devices.Device, program: Path, size: int, options: argparse.Namespace) -> dict:
    launches, count = (options.launches, options.rounds) if size < LARGE else (LAUNCHES_OF_LARGE, 1)
    command = [str(program), str(size), str(launches)]
    rounds = [one_round(folder / "capture", device, command, size, launches) for _ in range(count)]
    return {"buffer_bytes": size, "rounds": count} | {key: spread([r[key] for r in rounds]) for key in rounds[0]}


def spread(values: list[float]) -> dict[str, float]:
    return {name: float(f"{of(values):.4g}") for name, of in (("median", statistics.median), ("min", min), ("max", max))}


def one_round(folder: Path, device: devices.Device, command: list[str], size: int, launches: int) -> dict[str, float]:
    folder.mkdir()
    try:
        dd_rate = written_by_dd(folder, size)
        capture_rate = written_by_capture(folder, device, command)
        plain = subprocess.run(command, env=device.environment(os.environ), check=True, capture_output=True, text=True)
        capture = newest(folder)
        stateless, stateful = (replay(capture, iterations=launches, warmup=1, recopy=recopy) for recopy in (True, False))
        restore_rate = size / stateless.document.timing.restore.median * 1e3
        copy_rate = copied(size)
        per_second = {
            "launches_per_second": 1 / float(plain.stdout),
            "stateful_iterations_per_second": 1e3 * launches / stateful.document.timing.total_wall,
            "stateless_iterations_per_second": 1e3 * launches / stateless.document.timing.total_wall,
        }
        return {
            "capture_gb_per_second": capture_rate / 1e9,
            "dd_gb_per_second": dd_rate / 1e9,
            "capture_to_dd": capture_rate / dd_rate,
            "restore_gb_per_second": restore_rate / 1e9,
            "memcpy_gb_per_second": copy_rate / 1e9,
            "restore_to_memcpy": restore_rate / copy_rate,
            **per_second,
            "stateful_to_launches": per_second["stateful_iterations_per_second"] / per_second["launches_per_second"],
            "stateless_to_launches": per_second["stateless_iterations_per_second"] / per_second["launches_per_second"],
            "replay_setup_seconds": stateless.document.timing.setup / 1e3,
        }
    finally:
        shutil.rmtree(folder)


def written_by_capture(folder: Path, device: devices.Device, command: list[str]) -> float:
    """Bytes per second, by the library's own report."""
    environment = device.environment(os.environ, (native.isolate_library(),))
    environment |= {"ISOLATE_KERNEL": "change_pages", "ISOLATE_OUTPUT_DIR": str(folder)}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    megabytes, seconds = re.search(r"([\d.]+) MB written in ([\d.]+) s", done.stderr).groups()
    return float(megabytes) * 1e6 / max(float(seconds), 1e-3)


def written_by_dd(folder: Path, size: int) -> float:
    """Bytes per second, by dd's own report. What is written are zeros, which this folder's file system must not notice."""
    block = min(size, BLOCK)
    command = ["dd", "if=/dev/zero", f"of={folder / 'dd'}", f"bs={block}", f"count={size // block}"]
    done = subprocess.run(command, env=os.environ | {"LC_ALL": "C"}, check=True, capture_output=True, text=True)
    (folder / "dd").unlink()
    copied_bytes, seconds = re.search(r"(\d+) bytes.* copied, ([\d.e-]+) s", done.stderr).groups()
    return int(copied_bytes) / float(seconds)


def copied(size: int) -> float:
    """Bytes per second of memcpy, of the best of three."""
    source, target = (mmap.mmap(-1, size) for _ in range(2))
    addresses = [ctypes.addressof(ctypes.c_char.from_buffer(memory)) for memory in (source, target)]
    ctypes.memset(addresses[0], 1, size)
    ctypes.memset(addresses[1], 2, size)
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        ctypes.memmove(addresses[1], addresses[0], size)
        seconds.append(time.perf_counter() - begin)
    return size / min(seconds)


if __name__ == "__main__":
    main()
