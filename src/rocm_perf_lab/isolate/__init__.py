"""Captures one dispatch of a program with the memory that the dispatch can access. docs/REPLAY.md describes captures."""

from rocm_perf_lab.isolate.capture import Capture, Region, newest
from rocm_perf_lab.isolate.run import Isolation, capture, isolate

__all__ = ["Capture", "Isolation", "Region", "capture", "isolate", "newest"]
