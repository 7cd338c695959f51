"""See the package."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rocm_perf_triton import hip, kernel_arguments, software_device
from rocm_perf_triton.clock import CLOCK

Message = dict[str, Any]
_GAP, _GRANULE, _ALIGNMENT = 64 << 20, 2 << 20, 16


def main() -> None:
    """Run the job, whose file contains {"files": folder of code and contents, "results": folder to write to, "runs": launches}.

    Prints a JSON line for each successful run: {"run": number, "ms": modelled time, "parameters": hash of the timing
    parameters}.
    """
    job = json.loads(Path(sys.argv[1]).read_text())
    files, results = Path(job["files"]), Path(job["results"])
    for number, launch in enumerate(job["runs"]):
        milliseconds = run(launch, files, results, number)
        print(json.dumps({"run": number, "ms": milliseconds, "parameters": software_device.parameters_hash()}), flush=True)


def run(launch: Message, files: Path, results: Path, number: int) -> float:
    """Run one launch, starting with empty caches. Afterwards, the file "<number>-<m>" holds the contents of `buffers[m]`."""
    with ExitStack() as stack:
        addresses = _separate_buffers(launch["buffers"], stack)
        for address, memory in zip(addresses, launch["buffers"]):  # noqa: B905 - one address for each
            software_device.fill(address, (files / memory["contents"]).read_bytes())
        scratch = []
        for size in launch["scratch_bytes"]:
            programs = launch["grid"][0] * launch["grid"][1] * launch["grid"][2]
            scratch.append(hip.allocate(size * programs) if size else 0)
            stack.callback(hip.free, scratch[-1])
        words = [_word(word, addresses) for argument in launch["arguments"] for word in argument["words"]]
        milliseconds = _launch(launch, words + scratch, (files / launch["code"]).read_bytes())
        for index, (address, memory) in enumerate(zip(addresses, launch["buffers"])):  # noqa: B905 - as above
            (results / f"{number}-{index}").write_bytes(software_device.contents(address, memory["size"]))
    return milliseconds


def _separate_buffers(buffers: list[Message], stack: ExitStack) -> list[int]:
    """The addresses of new buffers, with nothing after each, so that an access past the end of one does not hit the next.

    HIP carves small requests out of larger allocations, which end elsewhere. Here, each buffer lies at the end of an allocation
    of its own.
    """
    addresses, gaps = [], [hip.allocate(_GAP)]
    for memory in buffers:
        size = -(-(memory["size"] + _ALIGNMENT) // _GRANULE) * _GRANULE
        allocation = hip.allocate(size)
        stack.callback(hip.free, allocation)
        last = allocation + size - memory["size"]
        addresses.append(last - (last - memory["shift"]) % _ALIGNMENT)
        gaps.append(hip.allocate(_GAP))
    for gap in gaps:
        hip.free(gap)
    return addresses


def _launch(launch: Message, words: list[int], image: bytes) -> float:
    module, function = hip.load(image, launch["name"])
    software_device.invalidate_caches()
    addresses, _store = kernel_arguments.packed(words)
    before = CLOCK.milliseconds
    with CLOCK.timed(0):
        hip.call(
            "hipModuleLaunchKernel", function, *launch["grid"], launch["threads"], 1, 1, launch["shared"], 0, addresses, None
        )
    hip.unload(module)
    return CLOCK.milliseconds - before


def _word(word: Message, addresses: list[int]) -> int:
    if "memory" in word:
        return addresses[word["memory"]] + int(word["offset"])
    return int(word["bits"])


if __name__ == "__main__":
    main()
