"""Profile HIP programs on AMD GPUs, or on a software device where there is no GPU.

import rocm_perf_lab as rpl
run = rpl.profile(["./app"])
"""

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rocm_perf_lab.api import Roofline, Run, compare, load, profile, replay

__version__ = "0.1.0"  # for a clone; a built package gets its version from git's tags (hatch_build.py)
with suppress(ImportError):
    __version__ = import_module("rocm_perf_lab._version").VERSION
__all__ = ["Roofline", "Run", "compare", "load", "profile", "replay"]


def __getattr__(name: str) -> Any:
    """Import the interface only on first use, so that the command line starts quickly."""
    if name not in __all__:
        raise AttributeError(f"module 'rocm_perf_lab' has no attribute {name!r}")
    from rocm_perf_lab import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
