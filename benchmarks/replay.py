"""What capturing and replaying cost, compared with dd to the same folder, memcpy, and a bare loop that launches the kernel.

    python benchmarks/replay.py [--sizes 1M,100M,4G] [--launches N] [--folder DIR] [--rounds N]

The program has one buffer of random bytes; its kernel changes a word in every page, so each iteration must restore all of them.
Everything that is compared runs during the same minutes on the same machine; sizes of 1 GiB and more run in one round only.
Prints JSON with the medians of the rounds, and the smallest and largest figures.

capture: the bytes per second that the program's own process writes before the kernel runs, not counting zeros and repetitions;
dd: the same for zeros, as many bytes as the buffer has, written to the same folder in blocks of 16 MiB. Neither waits for the
disk itself where the page cache has room.
restore: the buffer's bytes per second when memory is restored between iterations; memcpy: the same for a copy of the buffer.
iterations: iterations per second when replayed with restoring, without it (--no-recopy), and when launched by the HIP program,
each followed by a wait.
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
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="folder on the disk to be measured")
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
        uncaptured = subprocess.run(command, env=device.environment(os.environ), check=True, capture_output=True, text=True)
        capture = newest(folder)
        stateless, stateful = (replay(capture, iterations=launches, warmup=1, recopy=recopy) for recopy in (True, False))
        restore_rate = size / stateless.document.timing.restore.median * 1e3
        copy_rate = copied(size)
        per_second = {
            "launches_per_second": 1 / float(uncaptured.stdout),
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
    """Bytes per second, as reported by the capture library itself."""
    environment = device.environment(os.environ, (native.isolate_library(),))
    environment |= {"ISOLATE_KERNEL": "change_pages", "ISOLATE_OUTPUT_DIR": str(folder)}
    completed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    megabytes, seconds = re.search(r"([\d.]+) MB written in ([\d.]+) s", completed.stderr).groups()
    return float(megabytes) * 1e6 / max(float(seconds), 1e-3)


def written_by_dd(folder: Path, size: int) -> float:
    """Bytes per second, as reported by dd itself. It writes zeros, which the folder's file system must not treat specially."""
    block = min(size, BLOCK)
    command = ["dd", "if=/dev/zero", f"of={folder / 'dd'}", f"bs={block}", f"count={size // block}"]
    completed = subprocess.run(command, env=os.environ | {"LC_ALL": "C"}, check=True, capture_output=True, text=True)
    (folder / "dd").unlink()
    copied_bytes, seconds = re.search(r"(\d+) bytes.* copied, ([\d.e-]+) s", completed.stderr).groups()
    return int(copied_bytes) / float(seconds)


def copied(size: int) -> float:
    """Bytes per second of memcpy, the best of three runs."""
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
