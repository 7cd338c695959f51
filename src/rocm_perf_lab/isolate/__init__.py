"""Captures one dispatch of a program with the memory that the dispatch can access. docs/REPLAY.md describes captures."""

from rocm_perf_lab.isolate.capture_directory import Capture, Region, newest
from rocm_perf_lab.isolate.capture_program import CaptureRequest, capture, isolate

__all__ = ["Capture", "CaptureRequest", "Region", "capture", "isolate", "newest"]
