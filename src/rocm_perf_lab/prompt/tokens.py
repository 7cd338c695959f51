"""How many tokens a text will be, roughly: tokenisers differ, and none is asked."""

from __future__ import annotations

import math

BYTES_PER_TOKEN = 3.5
METHOD = f"bytes / {BYTES_PER_TOKEN}, rounded up: an estimate; the models' own tokenisers differ"


def estimate(text: str) -> int:
    return math.ceil(len(text.encode()) / BYTES_PER_TOKEN)
