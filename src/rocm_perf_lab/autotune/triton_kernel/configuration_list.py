"""The best configurations as Python source, in the form that `@triton.autotune` accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rocm_perf_lab.autotune.search_loop import best_of
from rocm_perf_lab.autotune.triton_kernel.tune import TunedFunction

_OF_CONFIG = ("num_warps", "num_stages", "maxnreg")  # named parameters of triton.Config


def best_configurations(tuned: TunedFunction) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Pairs of a configuration and the keys of all sizes for which it is best, in the order of the sizes."""
    pairs: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    for size in tuned.sizes:
        best = best_of(size.result.evaluated)
        values = {**size.result.fixed, **best.values} if best else {}
        keys = next((keys for known, keys in pairs if known == values), None)
        if keys is None:
            pairs.append((values, [size.key]))
        else:
            keys.append(size.key)
    return pairs


def configuration_list(tuned: TunedFunction) -> str:
    """Source code that defines CONFIGS and KEY."""
    lines = [f'"""The best configurations of {tuned.kernel}: @triton.autotune(configs=CONFIGS, key=KEY)."""', ""]
    lines += ["import triton", "", f"KEY = {list(tuned.sizes[0].key)!r}", "CONFIGS = ["]
    for values, keys in best_configurations(tuned):
        sizes = "; ".join(", ".join(f"{name}={value}" for name, value in key.items()) for key in keys)
        lines.append(f"    {_config(values)},  # {sizes}")
    return "\n".join([*lines, "]", ""])


def _config(values: Mapping[str, Any]) -> str:
    constants = {name: value for name, value in values.items() if name not in _OF_CONFIG}
    named = "".join(f", {name}={values[name]!r}" for name in _OF_CONFIG if name in values)
    return f"triton.Config({constants!r}{named})"
