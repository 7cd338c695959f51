"""Roughly estimates the number of tokens in a text: tokenisers differ, and none is called."""

from __future__ import annotations

import math

from rocm_perf_lab.utf8 import utf8

BYTES_PER_TOKEN = 3.0  # prompts for the testbed have 3.1 to 3.8 with cl100k_base; estimates should be high rather than low
METHOD = f"bytes / {BYTES_PER_TOKEN:g}, rounded up: a rather high estimate; the models' own tokenisers differ"


def estimate(text: str) -> int:
    return math.ceil(len(utf8(text)) / BYTES_PER_TOKEN)
