"""Python access to a capture directory. Only the native reader validates captures, so all users agree on what is valid."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocm_perf_lab import native
from rocm_perf_lab.errors import CaptureError, MissingInputError

NEWEST = "isolate_capture"
_INDEX_RECORD = "<IIQQII16x"  # native/capture/format.h, Block; the second-to-last field is the number of bytes in memory
_CAPTURE_AGAIN = "capture again with `rocm-perf isolate`"


@dataclass(frozen=True)
class Region:
    """A range of whole pages. kind: device, host, registered, managed, mapped or code; allocations: (address, bytes) each."""

    base: int
    bytes: int
    kind: str
    allocations: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Capture:
    """A validated capture. dispatch: the content of dispatch.json; regions: in ascending order of address."""

    path: Path
    dispatch: dict[str, Any]
    regions: tuple[Region, ...]

    @classmethod
    def open(cls, path: Path, *, every_byte: bool = False) -> Capture:
        """Validate the capture at `path`, including its memory if every_byte is set. Raises MissingInputError, CaptureError."""
        if not path.is_dir():
            raise MissingInputError(f"{path} is not a capture directory", "make one with `rocm-perf isolate`")
        _raise_if_invalid(path, _library().rpd_capture_check(os.fsencode(path), int(every_byte)))
        dispatch = json.loads((path / "dispatch.json").read_bytes())
        regions = json.loads((path / "memory_regions.json").read_bytes())["regions"]
        return cls(path, dispatch, tuple(map(_region, regions)))

    @property
    def kernel(self) -> str:
        """The kernel's demangled name."""
        return str(self.dispatch["kernel"]["name"])

    @property
    def symbol(self) -> str:
        """The kernel's mangled name."""
        return str(self.dispatch["kernel"]["symbol"])

    @property
    def target(self) -> str:
        """The agent's LLVM target, for example gfx942."""
        return str(self.dispatch["agent"]["name"])

    @property
    def code_object(self) -> Path:
        """The file of the captured code object."""
        return self.path / "kernel.hsaco"

    @property
    def argument_allocations(self) -> frozenset[int]:
        """Addresses of allocations in the runtime's pools that held the arguments of this or an earlier dispatch."""
        return frozenset(int(address, 16) for address in self.dispatch.get("argument_allocations", ()))

    @property
    def gpu_time_ns(self) -> int:
        """Duration of the captured dispatch; dispatch["origin"]["timing"] says whether it is modelled or measured."""
        return int(self.dispatch["origin"]["gpu_time_ns"])

    @property
    def changed_bytes(self) -> int:
        """Total size of the pages that the kernel changed."""
        index = (self.path / "memory" / "after.index").read_bytes()
        return sum(block_bytes for *_, block_bytes, _ in struct.iter_unpack(_INDEX_RECORD, index))

    def memory(self, address: int, size: int, *, after: bool = False) -> bytes:
        """`size` bytes at `address`, as they were before or after the kernel ran. Raises CaptureError."""
        region = next((r for r in self.regions if r.base <= address and address + size <= r.base + r.bytes), None)
        if region is None:
            raise CaptureError(
                f"{self.path}: no captured region contains {size} bytes at {address:#x}", "see memory_regions.json"
            )
        buffer = ctypes.create_string_buffer(size)
        arguments = (os.fsencode(self.path), int(after), region.base, address - region.base, size, buffer)
        _raise_if_invalid(self.path, _library().rpd_capture_read(*arguments))
        return buffer.raw


def newest(folder: Path = Path()) -> Path:
    """The newest capture in `folder`. Raises MissingInputError if there is none."""
    link = folder / NEWEST
    if link.is_dir():
        return link
    complete = [path.parent for path in folder.glob(f"{NEWEST}_*/manifest.json")]
    if not complete:
        raise MissingInputError(
            f"there is no capture in {folder.absolute()}", "make one with `rocm-perf isolate`, or name it with --capture-dir"
        )
    return max(complete, key=lambda path: (path / "manifest.json").stat().st_mtime_ns)


def _region(entry: dict[str, Any]) -> Region:
    allocations = tuple((int(a["address"], 16), a["bytes"]) for a in entry["allocations"])
    return Region(int(entry["base"], 16), entry["bytes"], entry["kind"], allocations)


def _raise_if_invalid(path: Path, complaint: int | None) -> None:
    if complaint:
        reason = ctypes.string_at(complaint).decode("utf-8", "replace")
        _library().rpd_capture_free(complaint)
        raise CaptureError(f"{path}: {reason}", _CAPTURE_AGAIN)


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(native.capture_library()))
    library.rpd_capture_check.argtypes = [ctypes.c_char_p, ctypes.c_int]
    library.rpd_capture_check.restype = ctypes.c_void_p
    library.rpd_capture_read.argtypes = [ctypes.c_char_p, ctypes.c_int, *[ctypes.c_uint64] * 3, ctypes.c_char_p]
    library.rpd_capture_read.restype = ctypes.c_void_p
    library.rpd_capture_free.argtypes = [ctypes.c_void_p]
    library.rpd_capture_free.restype = None
    return library
