"""HIP sources as parsed by Clang: kernels, loops and their contents, exact edits, and fingerprints of what must not change.

Everything is based on libclang's AST of the source with the program's own flags, once for the device and once for the host
pass; nothing is matched by regular expressions. `read()` is the entry point.
"""

from __future__ import annotations

from rocm_perf_lab.hip_source.edits import Edit, apply_edits
from rocm_perf_lab.hip_source.model import KernelParameter, Loop, SourceKernel
from rocm_perf_lab.hip_source.source import HipSource, read

__all__ = ["Edit", "HipSource", "SourceKernel", "Loop", "KernelParameter", "apply_edits", "read"]
