"""Determines the GPUs for which a program or a library contains code. Only headers are read, because libraries can be
very large.

Format: as in fat_binary.py; the content of a compressed bundle begins with the header of an uncompressed bundle.
"""

from __future__ import annotations

import mmap
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from rocm_perf_lab.code_object.fat_binary import COMPRESSED_MAGIC, ELF_MAGIC, MAGIC, bundle_index, compressed_size

_HEADER_BYTES = 1 << 20  # how much of a bundle's uncompressed content is read; enough for its index
_ZLIB = 0  # value in LLVM's compression::Format; 1 is zstd
_PREFIX = {1: 20, 2: 24, 3: 32}  # bytes before the compressed content, for each version


def targets_in(path: Path) -> frozenset[str]:
    """The targets for which HIP could load code from the file: "gfx942", "gfx90a:xnack-", "gfx9-4-generic"; empty if
    it has no device code.

    The result is also empty for a file that is damaged or cannot be read, because nothing is known about it.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
            return frozenset(_targets(image))
    except (OSError, ValueError, struct.error, zlib.error):
        return frozenset()


def _targets(image: mmap.mmap) -> Iterator[str]:
    position, end = _fat_binary(image)
    while position < end:
        offsets = [offset for magic in (MAGIC, COMPRESSED_MAGIC) if (offset := image.find(magic, position, end)) >= 0]
        if not offsets:
            return
        start = min(offsets)
        if image[start : start + len(MAGIC)] == MAGIC:
            entries, position = bundle_index(image, start)
        else:
            position = start + compressed_size(image, start, end)
            entries, _ = bundle_index(_beginning(image[start:position]), 0)
        yield from (name.rsplit("--", 1)[-1].lstrip("-") for name, _, size in entries if name.startswith("hip") and size)


def _beginning(bundle: bytes) -> bytes:
    """The first part of a compressed bundle's content."""
    version, method = struct.unpack_from("<HH", bundle, len(COMPRESSED_MAGIC))
    content = bundle[_PREFIX.get(version, _PREFIX[3]) :]
    if method == _ZLIB:
        return zlib.decompressobj().decompress(content, _HEADER_BYTES)
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    beginning: bytes = zstd.ZstdDecompressor().decompress(content, _HEADER_BYTES)
    return beginning


def _fat_binary(image: mmap.mmap) -> tuple[int, int]:
    """Where .hip_fatbin begins and ends in a 64-bit ELF file [ELF-64 Object File Format, "Sections"]; (0, 0) in other files."""
    if image[: len(ELF_MAGIC)] != ELF_MAGIC:
        return 0, 0
    (table,) = struct.unpack_from("<Q", image, 40)
    size, count, names = struct.unpack_from("<HHH", image, 58)
    sections = [struct.unpack_from("<IIQQQQ", image, table + number * size) for number in range(count)]
    strings = sections[names][4] if names < count else 0
    for name, _type, _flags, _address, offset, length in sections:
        if image[strings + name : strings + name + 12] == b".hip_fatbin\0":
            return offset, min(offset + length, len(image))
    return 0, 0
