"""Roughly estimates the number of tokens in a text without calling a tokeniser, because tokenisers differ."""

from __future__ import annotations

import math

from rocm_perf_lab.utf8 import utf8

BYTES_PER_TOKEN = 3.0  # testbed prompts have 3.1 to 3.8 with cl100k_base; it is better to overestimate
METHOD = f"bytes / {BYTES_PER_TOKEN:g}, rounded up: a rather high estimate; the models' own tokenisers differ"


def estimate(text: str) -> int:
    return math.ceil(len(utf8(text)) / BYTES_PER_TOKEN)
