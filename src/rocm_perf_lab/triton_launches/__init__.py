"""Uses rocm_perf_triton.served to pause scripts whenever they launch a given Triton kernel, and to repeat and record these
launches.
"""

from rocm_perf_lab.triton_launches.script import ChangedFile, ScriptKernel, environment_of
from rocm_perf_lab.triton_launches.served_script import ScriptExitedError, ScriptTimeoutError, ServedScript

__all__ = ["ChangedFile", "ScriptExitedError", "ScriptKernel", "ScriptTimeoutError", "ServedScript", "environment_of"]
