"""A Python file with Triton functions, as `ast` sees it: the functions, their places in the file's bytes, and exact edits."""

from rocm_perf_lab.hip_source.edits import Edit
from rocm_perf_lab.hip_source.model import Span
from rocm_perf_lab.triton_source.function import TritonKernel
from rocm_perf_lab.triton_source.source import TritonSource

__all__ = ["Edit", "Span", "TritonKernel", "TritonSource"]
