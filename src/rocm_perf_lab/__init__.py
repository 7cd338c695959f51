"""Profile HIP programs on AMD GPUs, or on a software gfx942 where there is none."""

__version__ = "0.1.0"
