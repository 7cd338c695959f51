"""Code objects inside a HIP program: the bundles in its .hip_fatbin section.

Format: LLVM's clang/docs/ClangOffloadBundler.rst, "Bundled Code Object File Layout". Compressed bundles are handed to
clang-offload-bundler, because their format changes between versions.
"""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from rocm_perf_lab.errors import SourceError, UnavailableError

MAGIC, COMPRESSED_MAGIC, ELF_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", b"\x7fELF"
MAX_FILE_BYTES = 1 << 30
"""The maximum number of bytes read from a build's output file, or from a section of it."""

_HEAD = 64  # size of the header of a 64-bit ELF file
_BUNDLER_SECONDS = 600  # a library's bundle can unpack to gigabytes
_AMDGPU_MACHINE = 224  # EM_AMDGPU


def code_objects_in(path: Path) -> list[tuple[str, bytes]]:
    """(target, code object) for each device image in a file (a program, a bundle or a bare .hsaco), in file order.

    target: as given in the bundle, such as "gfx942:xnack-"; "" for a bare .hsaco, whose e_flags are not consulted. Returns []
    for any file without device code. Raises SourceError if the file cannot be read, is too large or is damaged, or
    UnavailableError if a compressed bundle needs clang-offload-bundler but the tool is missing.
    """
    try:
        with path.open("rb") as file:
            return _code_objects(file)
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}", "name a built program or code object") from error
    except (struct.error, ValueError) as error:
        raise SourceError(f"{path} is not a HIP program or code object: {error}", "build it again") from error


def not_whole(details: object) -> str:
    """The message for a damaged ELF file. details: the ELF reader's message, which says little on its own."""
    return f"it is not a whole ELF file ({str(details) or type(details).__name__})"


def _code_objects(file: BinaryIO) -> list[tuple[str, bytes]]:
    """The code objects in a file. For a program, only the section that contains them is read: the rest may be large."""
    head = file.read(_HEAD)
    if not head.startswith(ELF_MAGIC):
        return list(_bundles(head + _limited(file, os.fstat(file.fileno()).st_size)))
    if len(head) < _HEAD:
        raise ValueError(not_whole("it ends within its first header"))
    if struct.unpack_from("<H", head, 18)[0] == _AMDGPU_MACHINE:
        return [("", head + _limited(file, os.fstat(file.fileno()).st_size))]
    return list(_bundles(_section(file)))


def _limited(file: BinaryIO, size: int) -> bytes:
    """Read up to `size` bytes from the file's current position. Raises ValueError if `size` is too large."""
    if size > MAX_FILE_BYTES:
        raise ValueError(f"its size is {size / (1 << 30):.1f} GiB, and at most {MAX_FILE_BYTES >> 30} GiB are read")
    return file.read(size)


def _section(file: BinaryIO) -> bytes:
    from elftools.elf.elffile import ELFFile

    try:
        section = ELFFile(file).get_section_by_name(".hip_fatbin")
        extent = None if section is None else (section["sh_offset"], section["sh_size"])
    except Exception as error:  # the ELF reader raises all kinds of exceptions for damaged files
        raise ValueError(not_whole(error)) from error
    if extent is None:
        return b""
    file.seek(extent[0])
    return _limited(file, extent[1])


def _bundles(data: bytes) -> Iterator[tuple[str, bytes]]:
    position = 0
    while position < len(data):
        starts = [s for s in (data.find(MAGIC, position), data.find(COMPRESSED_MAGIC, position)) if s >= 0]
        if not starts:
            return
        start = min(starts)
        if data.startswith(MAGIC, start):
            entries, end = _entries(data, start)
        else:
            end = start + compressed_size(data, start, len(data))
            entries, _ = _entries(_decompressed(data[start:end]), 0)
        yield from entries
        position = end


def _entries(data: bytes, start: int) -> tuple[list[tuple[str, bytes]], int]:
    """The device images of the bundle at `start`, and the position where the bundle ends."""
    entries, end = bundle_index(data, start)
    images = []
    for name, offset, size in entries:
        if offset + size > len(data):
            raise ValueError(f"bundle entry {name} extends past the end")
        if name.startswith("hip") and size:
            images.append((name.rsplit("--", 1)[-1].lstrip("-"), data[offset : offset + size]))
    return images, end


def bundle_index(data: bytes | mmap.mmap, start: int) -> tuple[list[tuple[str, int, int]], int]:
    """(name, start, size) of every entry in the bundle at `start`, and the position where the bundle ends.

    Raises struct.error or ValueError if the index is damaged.
    """
    (count,) = struct.unpack_from("<Q", data, start + len(MAGIC))
    position = end = start + len(MAGIC) + 8
    if count > 1024:
        raise ValueError(f"bundle of {count} entries")
    entries = []
    for _ in range(count):
        offset, size, name_length = struct.unpack_from("<QQQ", data, position)
        name = data[position + 24 : position + 24 + name_length].decode("ascii", "replace")
        position += 24 + name_length
        end = max(end, position, start + offset + size)
        entries.append((name, start + offset, size))
    return entries, end


def compressed_size(data: bytes | mmap.mmap, start: int, end: int) -> int:
    """The size field of a compressed bundle: 32 bits in version 2, 64 bits from version 3 on. Version 1 has none: such a bundle
    extends to `end`, the end of the data.

    Raises struct.error or ValueError if the bundle is damaged.
    """
    (version,) = struct.unpack_from("<H", data, start + 4)
    if version < 2:
        return end - start
    (size,) = struct.unpack_from("<I" if version == 2 else "<Q", data, start + 8)
    if not 0 < size <= end - start:
        raise ValueError("compressed bundle extends past the end")
    return int(size)


def _decompressed(bundle: bytes) -> bytes:
    """The uncompressed bundle, rebuilt from the output of clang-offload-bundler."""
    tool = _bundler()
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder) / "bundle"
        packed.write_bytes(bundle)
        names = _bundled([tool, "--list", "--type=o", f"--input={packed}"]).split()
        outputs = [Path(folder) / str(index) for index in range(len(names))]
        command = [tool, "--unbundle", "--type=o", f"--input={packed}", f"--targets={','.join(names)}"]
        _bundled([*command, *(f"--output={output}" for output in outputs)])
        return _bundle(names, [output.read_bytes() for output in outputs])


def _bundled(command: list[str]) -> str:
    """The output of clang-offload-bundler. Raises ValueError if it fails or does not finish."""
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=_BUNDLER_SECONDS)
    except subprocess.TimeoutExpired:
        raise ValueError(f"clang-offload-bundler did not end within {_BUNDLER_SECONDS} s") from None
    if done.returncode:
        raise ValueError(f"clang-offload-bundler: {done.stderr.strip()}")
    return done.stdout


def _bundle(names: list[str], images: list[bytes]) -> bytes:
    header_size = len(MAGIC) + 8 + sum(24 + len(name) for name in names)
    header, offset = MAGIC + struct.pack("<Q", len(names)), header_size
    for name, image in zip(names, images, strict=True):
        header += struct.pack("<QQQ", offset, len(image), len(name)) + name.encode()
        offset += len(image)
    return header + b"".join(images)


def _bundler() -> str:
    program = shutil.which("clang-offload-bundler") or next(
        (
            str(p)
            for pattern in ("/opt/rocm*/llvm/bin", "/usr/lib/llvm-*/bin")
            for p in sorted(Path("/").glob(pattern[1:] + "/clang-offload-bundler"))
        ),
        None,
    )
    if program is None:
        raise UnavailableError("no clang-offload-bundler was found to unpack a compressed code object", "install ROCm's LLVM")
    return program
