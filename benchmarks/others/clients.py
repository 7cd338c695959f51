"""Draws a sample from the test data of rocSPARSE or rocBLAS: hundreds of thousands of cases, more than can be read in minutes.

The data file consists of a name, one record that shows the layout, the name in the opposite case, and records of equal size.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

_HEAD = re.compile(rb"(?s)\Aroc([A-Z]+)\0(.+?)ROC[a-z]+\0")


def draw(data: Path, to: Path, seed: int, count: int) -> None:
    with data.open("rb") as file:
        head = _HEAD.match(file.read(1 << 16))
        if head is None:
            raise ValueError(f"{data.name} is not a file of test data in the known format")
        begin, size = head.end(), len(head[2])
        total = (data.stat().st_size - begin) // size
        chosen = sorted(random.Random(seed).sample(range(total), min(count, total)))
        records = [_record(file, begin + i * size, size) for i in chosen]
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(head[0] + b"".join(records))


def _record(file, at: int, size: int) -> bytes:
    file.seek(at)
    return file.read(size)
