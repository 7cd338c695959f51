"""AMD GPU code objects: taking them out of programs, and what their metadata says of each kernel."""

from __future__ import annotations

from rocm_perf_lab.code_object.fat_binary import code_objects_in
from rocm_perf_lab.code_object.metadata import Argument, CodeObject, KernelMetadata, parse
from rocm_perf_lab.code_object.targets import targets_in

__all__ = ["Argument", "CodeObject", "KernelMetadata", "code_objects_in", "parse", "targets_in"]
