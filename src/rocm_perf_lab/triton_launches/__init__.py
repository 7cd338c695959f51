"""Pauses scripts at their launches of one Triton kernel, and repeats and records these launches, through
rocm_perf_triton.served.
"""

from rocm_perf_lab.triton_launches.script import ChangedFile, ScriptKernel, environment_of
from rocm_perf_lab.triton_launches.served_script import ScriptExited, ScriptTimeout, ServedScript

__all__ = ["ChangedFile", "ScriptExited", "ScriptKernel", "ScriptTimeout", "ServedScript", "environment_of"]
