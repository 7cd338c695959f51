"""Optional packages, and which extra of this package provides each; for errors and for `rocm-perf doctor`."""

from __future__ import annotations

import importlib.util
from types import MappingProxyType

from rocm_perf_lab.errors import UnavailableError

EXTRAS = MappingProxyType(
    {
        "autotune": (("scipy", "sklearn"), "autotune's strategy three-phase, and the importance of parameters"),
        "dask": (("distributed",), "--scheduler"),
        "fast": (("adbc_driver_sqlite", "numba", "pyarrow"), "quick analysis of traces with millions of dispatches"),
        "llm": (("anthropic", "genai_prices", "openai"), "llm-optimize with hosted models or any OpenAI-compatible server"),
        "mcp": (("mcp",), "the MCP server"),
        "parquet": (("pyarrow",), "dispatches.parquet, and Arrow tables in Python"),
        "perfetto": (("google.protobuf", "perfetto"), "export --perfetto"),
    }
)
"""Extra -> (the modules that it installs, what they are for). pyproject.toml has the same names."""


def how_to_install(extra: str) -> str:
    """The remedy for a missing module, in the imperative."""
    return f"run `pip install 'rocm-perf-lab[{extra}]'`"


def missing_extra(need: str, extra: str) -> UnavailableError:
    """The error for a missing module. need: what needs it, such as "--scheduler needs Dask"."""
    return UnavailableError(f"{need}, which is not installed", how_to_install(extra))


def absent_modules(extra: str) -> list[str]:
    """The modules of an extra that are not installed. Only parent packages are imported."""
    return [module for module in EXTRAS[extra][0] if not _is_installed(module)]


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a parent package is missing
        return False
