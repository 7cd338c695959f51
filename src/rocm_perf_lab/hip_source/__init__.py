"""HIP sources as parsed by Clang: kernels, loops and their contents, launches, and exact edits.

The source is parsed with the program's own flags, once for the device pass and once for the host pass. Kernels, loops and
launches are found in libclang's AST; the text is searched where the AST is not enough. `read()` is the entry point.
"""

from __future__ import annotations

from rocm_perf_lab.hip_source.edits import Edit, apply_edits
from rocm_perf_lab.hip_source.source import HipSource, read
from rocm_perf_lab.hip_source.source_parts import KernelParameter, Loop, SourceKernel

__all__ = ["Edit", "HipSource", "SourceKernel", "Loop", "KernelParameter", "apply_edits", "read"]
