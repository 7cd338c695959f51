"""Keeps copies of host arrays in device memory; they are filled before each launch and copied back after it.

Between launches, only host memory is authoritative; the allocations are kept only to avoid allocating again.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rocm_perf_triton import hip, software_device
from rocm_perf_triton.host_arrays import MemorySpan

_KEPT_BYTES = 4 << 30
_ALIGNMENT = 16  # Triton specializes kernels for addresses that are multiples of this number


@dataclass(frozen=True)
class Mirror:
    """A copy, in device memory, of a span of host memory."""

    host: MemorySpan
    allocation: int
    address: int

    @property
    def size(self) -> int:
        return self.host.end - self.host.begin

    def device_address(self, host_address: int) -> int:
        return self.address + host_address - self.host.begin

    def fill(self) -> None:
        software_device.write(self.address, self.host.begin, self.size)

    def copy_back(self) -> None:
        """Raises ValueError if a kernel wrote to memory that its owner declares read-only."""
        if self.host.writable:
            software_device.read(self.host.begin, self.address, self.size)
        elif software_device.contents(self.address, self.size) != _host_contents(self.host):
            raise ValueError("a kernel wrote to an array that is read-only")


def _host_contents(host: MemorySpan) -> bytes:
    return ctypes.string_at(host.begin, host.end - host.begin)


class DeviceMemory:
    """All mirrors of this process."""

    def __init__(self) -> None:
        self._mirrors: dict[tuple[int, int], Mirror] = {}  # least recently used first
        self._exposed: dict[MemorySpan, weakref.ref[Any]] = {}

    def expose(self, host: MemorySpan, owner: Any) -> Mirror:
        """A mirror whose address the program knows. As long as `owner` is alive, the mirror is part of every launch."""
        self._exposed[host] = weakref.ref(owner)
        (mirror,) = (mirror for mirror in self.mirrors(()) if mirror.host == host)
        return mirror

    def mirrors(self, spans: Iterable[MemorySpan]) -> list[Mirror]:
        """One mirror for each piece of host memory, including exposed memory; overlapping spans are merged into one piece."""
        self._exposed = {host: owner for host, owner in self._exposed.items() if owner() is not None}
        pieces = _united([piece for piece in (*spans, *self._exposed) if piece.end > piece.begin])
        self._make_room(pieces)
        return [self._mirror(piece) for piece in pieces]

    def _mirror(self, host: MemorySpan) -> Mirror:
        earlier = self._mirrors.pop((host.begin, host.end), None)
        if earlier is None:
            shift = host.begin % _ALIGNMENT
            allocation = hip.allocate(host.end - host.begin + shift)
        else:
            allocation, shift = earlier.allocation, earlier.address - earlier.allocation
        mirror = Mirror(host, allocation, allocation + shift)
        self._mirrors[host.begin, host.end] = mirror
        return mirror

    def _make_room(self, pieces: list[MemorySpan]) -> None:
        """Free the mirrors of host memory whose extent has changed and, above a limit, the least recently used others."""
        wanted = {(piece.begin, piece.end) for piece in pieces}
        for key, mirror in list(self._mirrors.items()):
            if key not in wanted and any(mirror.host.overlaps(piece) for piece in pieces):
                self._free(key)
        new = sum(end - begin for begin, end in wanted - self._mirrors.keys())
        mirrored_bytes = sum(mirror.size for mirror in self._mirrors.values())
        for key in [key for key in self._mirrors if key not in wanted]:
            if mirrored_bytes + new <= _KEPT_BYTES:
                break
            mirrored_bytes -= self._mirrors[key].size
            self._free(key)

    def _free(self, key: tuple[int, int]) -> None:
        hip.free(self._mirrors.pop(key).allocation)


def _united(spans: list[MemorySpan]) -> list[MemorySpan]:
    united: list[MemorySpan] = []
    for piece in sorted(spans, key=lambda piece: piece.begin):
        if united and united[-1].overlaps(piece):
            last = united.pop()
            piece = MemorySpan(last.begin, max(last.end, piece.end), last.writable and piece.writable)
        united.append(piece)
    return united


MEMORY = DeviceMemory()
