"""Saves and restores the memory of a launch's array arguments, and writes it to files named after hashes of their contents."""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from rocm_perf_triton import activation
from rocm_perf_triton.host_arrays import span


class ArgumentStorage(Protocol):
    """All memory that an argument's owner allocated, as bytes."""

    def contents(self) -> bytes: ...

    def load(self, contents: bytes) -> None: ...


class _HostPiece:
    """On the software device, every array is in host memory between launches."""

    def __init__(self, value: Any):
        self.span = span(value)

    def contents(self) -> bytes:
        return ctypes.string_at(self.span.begin, self.span.end - self.span.begin)

    def load(self, contents: bytes) -> None:
        if self.span.writable:
            ctypes.memmove(self.span.begin, contents, len(contents))


class _StoragePiece:
    """A PyTorch storage, on any device."""

    def __init__(self, value: Any):
        self._storage = getattr(value, "base", value).untyped_storage()

    def contents(self) -> bytes:
        on_cpu = self._storage.cpu()
        return ctypes.string_at(on_cpu.data_ptr(), on_cpu.nbytes())

    def load(self, contents: bytes) -> None:
        on_cpu = self._storage.cpu() if self._storage.device.type != "cpu" else self._storage
        ctypes.memmove(on_cpu.data_ptr(), contents, len(contents))
        if on_cpu is not self._storage:
            self._storage.copy_(on_cpu)


def is_array(value: Any) -> bool:
    return hasattr(value, "data_ptr") or hasattr(getattr(value, "base", None), "data_ptr")


def array_of(value: Any) -> Any:
    """The array itself; for a tensor descriptor, which has a shape and strides but no address, the array that it describes."""
    return value if hasattr(value, "data_ptr") else value.base


class ArgumentMemory:
    """The memory of each array argument, and its contents at the time this object was created."""

    def __init__(self, arguments: Mapping[str, Any]):
        kind = _HostPiece if activation.is_active() else _StoragePiece
        arrays = {name: array_of(value) for name, value in arguments.items() if is_array(value)}
        self.pieces: dict[str, ArgumentStorage] = {name: kind(value) for name, value in arrays.items()}
        self.before = {name: piece.contents() for name, piece in self.pieces.items()}

    def restore(self) -> None:
        for name, contents in self.before.items():
            self.pieces[name].load(contents)

    def changed(self, folder: Path) -> dict[str, str]:
        """For each array that has changed, the name of the file in `folder` that holds its new contents."""
        now = {name: piece.contents() for name, piece in self.pieces.items()}
        return {name: stored(contents, folder) for name, contents in now.items() if contents != self.before[name]}


def stored(contents: bytes, folder: Path) -> str:
    """Returns the name of the file in `folder` that holds these contents, and writes the file if it does not exist."""
    name = hashlib.sha256(contents).hexdigest()
    path = folder / name
    if not path.exists():
        temporary = folder / f"{name}.{os.getpid()}"
        temporary.write_bytes(contents)
        temporary.rename(path)
    return name
