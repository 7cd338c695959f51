"""Overlays that replace captured inputs with other data, in the format that rocmperf-replay reads."""

from __future__ import annotations

import struct
from collections.abc import Sequence


def packed(overlays: Sequence[tuple[int, bytes]]) -> bytes:
    """Packs (address, content) pairs as records: two 64-bit little-endian numbers, address and length, followed by the
    content.
    """
    return b"".join(struct.pack("<QQ", address, len(content)) + content for address, content in overlays)
