"""A Python file with Triton functions, as parsed by `ast`: the functions, their positions in the file's bytes, and exact
edits.
"""

from rocm_perf_lab.hip_source.edits import Edit
from rocm_perf_lab.hip_source.source_parts import Span
from rocm_perf_lab.triton_source.function import TritonKernel
from rocm_perf_lab.triton_source.source import TritonSource

__all__ = ["Edit", "Span", "TritonKernel", "TritonSource"]
