"""AMD GPU code objects: extracting them from programs, and reading each kernel's metadata."""

from __future__ import annotations

from rocm_perf_lab.code_object.fat_binary import code_objects_in
from rocm_perf_lab.code_object.metadata import CodeObject, KernelArgument, KernelMetadata, parse
from rocm_perf_lab.code_object.targets import targets_in

__all__ = ["CodeObject", "KernelArgument", "KernelMetadata", "code_objects_in", "parse", "targets_in"]
