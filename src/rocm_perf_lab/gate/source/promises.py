"""Promises that a change makes to the compiler about the kernel's callers, and whether the known launches keep them.

A changed body is judged by the memory contents that it produces. That is not enough for `__restrict__`, for launch bounds, or
for loads that are moved on the assumption that nothing writes to the memory they read: these are correct only if the callers
keep a promise. If a caller breaks it, the code is correct only by luck. A promise is therefore either read from the head of the
candidate's kernel or declared along with the candidate, and it must hold for every captured dispatch and for the launches in
the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np

from rocm_perf_lab.code_object import KernelMetadata
from rocm_perf_lab.hip_source import HipSource, SourceKernel
from rocm_perf_lab.hip_source.aliasing import other_memory_access, reassigned
from rocm_perf_lab.hip_source.demangle import parameter_types
from rocm_perf_lab.hip_source.launch_sites import LaunchSite, launch_sites_by_unit
from rocm_perf_lab.hip_source.pointer_origins import PointerOrigins, UnknownOriginError
from rocm_perf_lab.isolate import Capture

RESTRICT = "__restrict__"


@dataclass(frozen=True)
class Promises:
    """What a change promises the compiler about the kernel's callers, or relies on itself (`unwritten`).

    restrict: pointer parameters that gain `__restrict__`: memory written through one of them is accessed through no other
    pointer. unwritten: pointer parameters whose memory the kernel does not write. threads: the bound that `__launch_bounds__`
    sets; None if there is none.
    """

    restrict: tuple[str, ...] = ()
    unwritten: tuple[str, ...] = ()
    threads: int | None = None

    @property
    def memory_parameters(self) -> tuple[str, ...]:
        return (*self.restrict, *self.unwritten)

    def __str__(self) -> str:
        words = [f"{RESTRICT} on {', '.join(self.restrict)}"] if self.restrict else []
        words += [f"nothing written through {', '.join(self.unwritten)}"] if self.unwritten else []
        words += [f"at most {self.threads} threads per workgroup"] if self.threads is not None else []
        return "; ".join(words)


NO_PROMISES = Promises()


def bound_declaration(source: HipSource, threads: int) -> str:
    """The text that declares the bound: HIP's macro if HIP's header defines it, otherwise the attribute that it expands to."""
    if source.device.has_system_macro("__launch_bounds__"):
        return f"__launch_bounds__({threads})"
    return f"__attribute__((amdgpu_flat_work_group_size(1, {threads})))"


def combined_promises(one: Promises, other: Promises) -> Promises:
    """All promises of both, with the smaller of the two bounds."""
    bounds = [p.threads for p in (one, other) if p.threads is not None]
    return Promises(
        tuple(dict.fromkeys((*one.restrict, *other.restrict))),
        tuple(dict.fromkeys((*one.unwritten, *other.unwritten))),
        min(bounds, default=None),
    )


def broken_in_source(source: HipSource, kernel: str, promises: Promises) -> str | None:
    """Why a launch in the source may break a promise; None if none does. source: the baseline."""
    target = source.kernel(kernel)
    if promises == NO_PROMISES:
        return None
    launches: list[LaunchSite] = []
    for unit, launched in launch_sites_by_unit(source, target):
        if launched.other_uses:
            where = f"line {launched.other_uses[0]}" + (f" of {unit.main.name}" if unit is not source else "")
            return f"{target.name} is referenced without being launched in {where}: not all of its launches are known"
        launches += launched.sites
    if file := next((file for file in source.foreign if _may_launch(file, target)), None):
        return f"{file.name}, which is not compiled as HIP, names {target.name}: not all of its launches are known"
    if promises.threads is not None:
        if not launches:
            return f"the source does not launch {target.name}: its blocks are not known"
        for launch in launches:
            if launch.block is None:
                return f"the block of the launch in line {launch.line} is not a constant"
            if int(np.prod(launch.block)) > promises.threads:
                return f"the launch in line {launch.line} has {int(np.prod(launch.block))} threads per workgroup"
    return _shared_in_source(source, target, launches, promises) if promises.memory_parameters else None


def _may_launch(file: Path, kernel: SourceKernel) -> bool:
    """Whether a file that is not compiled as HIP may launch the kernel: it must pass its name or symbol to the runtime."""
    name = re.escape(kernel.last_name.encode())
    try:
        return re.search(rb"\b%s\b|\d%s" % (name, name), file.read_bytes()) is not None
    except OSError:
        return True


def _shared_in_source(
    source: HipSource, target: SourceKernel, launches: Sequence[LaunchSite], promises: Promises
) -> str | None:
    if complaint := other_memory_access(source.device, target):
        return complaint
    if moved := reassigned(source.device, target) & set(promises.memory_parameters):
        return f"{sorted(moved)[0]} is changed to point elsewhere"
    origins = PointerOrigins(source)
    for launch in launches:
        if complaint := _same_names(target, launch, promises) or _same_memory(target, launch, promises, origins):
            return complaint
    return None


def _pairs(target: SourceKernel, promises: Promises) -> Iterator[tuple[int, int]]:
    """Pairs of parameter positions: the first parameter has a promise, and the second must not point to the same memory."""
    for (i, promised), (j, other) in permutations(enumerate(target.parameters), 2):
        matters = promised.name in promises.restrict or (promised.name in promises.unwritten and not other.const_pointee)
        if matters and other.pointee is not None:
            yield i, j


def _same_names(target: SourceKernel, launch: LaunchSite, promises: Promises) -> str | None:
    for i, j in _pairs(target, promises):
        if max(i, j) < len(launch.address_names) and (same := launch.address_names[i] & launch.address_names[j]):
            return _same_origin_complaint(target, launch, (i, j), sorted(same)[0])
    return None


def _same_memory(target: SourceKernel, launch: LaunchSite, promises: Promises, origins: PointerOrigins) -> str | None:
    """Like _same_names(), but compares the allocations behind the arguments, on every path into the launching function."""
    pairs = list(_pairs(target, promises))
    for words, memory in origins.of_launch(launch.arguments, launch.call) if pairs else ():
        for i, j in pairs:
            if max(i, j) >= len(memory):
                return f"the launch in line {launch.line} does not name all arguments"
            for number in (i, j):
                if isinstance(lost := memory[number], UnknownOriginError):
                    return f"in the launch in line {launch.line} {target.parameters[number].name} {lost}{words}"
            one, other = memory[i], memory[j]
            if not isinstance(one, UnknownOriginError) and not isinstance(other, UnknownOriginError) and (same := one & other):
                return _same_origin_complaint(target, launch, (i, j), min(site.name for site in same)) + words
    return None


def _same_origin_complaint(target: SourceKernel, launch: LaunchSite, pair: tuple[int, int], origin: str) -> str:
    one, other = (target.parameters[number].name for number in pair)
    return f"the launch in line {launch.line} derives {one} and {other} from the same {origin}"


def broken_in_capture(capture: Capture, kernel: SourceKernel, metadata: KernelMetadata, promises: Promises) -> str | None:
    """Why the captured dispatch breaks a promise, or may break it; None if it does not.

    The bytes that the kernel reads through a pointer are not known, so the whole allocation that the pointer points into
    counts: the kernel must not change it, or, for `__restrict__`, no other argument may point into it.
    """
    x, y, z = capture.dispatch["packet"]["workgroup"]
    if promises.threads is not None and x * y * z > promises.threads:
        return f"a captured dispatch has {x * y * z} threads per workgroup"
    if not promises.memory_parameters:
        return None
    if any(re.search(r"\*.*[*&]", type_) for type_ in parameter_types(capture.kernel)):
        return "a parameter points to pointers"
    addresses = _addresses(capture, kernel, metadata)
    places = {name: _allocation(capture, address) for name, address in addresses.items() if address}
    for name in promises.memory_parameters:
        if name not in addresses:
            return f"{name} is not a pointer parameter of {kernel.name}"
        if addresses[name] == 0:
            continue
        if (allocation := places[name]) is None:
            return f"{name} points to memory that was not captured"
        sharing = [other for other in places if other != name and places[other] in (allocation, None)]
        if name in promises.restrict and not sharing:
            continue
        if _kernel_changes(capture, allocation):
            shared = f", which {sharing[0]} may point into as well" if sharing else ""
            return f"the kernel writes to the allocation that {name} points into{shared}"
    return None


def _addresses(capture: Capture, kernel: SourceKernel, metadata: KernelMetadata) -> dict[str, int]:
    """The address that each pointer parameter held in the captured dispatch."""
    content = (capture.path / "kernarg.bin").read_bytes()
    explicit = [argument for argument in metadata.arguments if not argument.hidden]
    return {
        parameter.name: int.from_bytes(content[argument.offset : argument.offset + argument.size], "little")
        for parameter, argument in zip(kernel.parameters, explicit, strict=False)  # the code may have more parameters
        if argument.value_kind == "global_buffer"
    }


def _allocation(capture: Capture, address: int) -> tuple[int, int] | None:
    for region in capture.regions:
        for start, size in region.allocations:
            if start <= address < start + size:
                return start, size
    return None


def _kernel_changes(capture: Capture, allocation: tuple[int, int]) -> bool:
    return capture.memory(*allocation) != capture.memory(*allocation, after=True)
