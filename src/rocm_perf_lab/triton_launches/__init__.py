"""Scripts whose launches of one Triton kernel are stopped at, repeated and recorded, through rocm_perf_triton.served."""

from rocm_perf_lab.triton_launches.script import ChangedFile, ScriptKernel, environment_of
from rocm_perf_lab.triton_launches.served_script import ScriptExited, ScriptTimeout, ServedScript

__all__ = ["ChangedFile", "ScriptExited", "ScriptKernel", "ScriptTimeout", "ServedScript", "environment_of"]
