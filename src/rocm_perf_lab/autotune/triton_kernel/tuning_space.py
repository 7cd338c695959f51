"""The search space of a Triton function: its own configurations, or those in a space file."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocm_perf_lab.autotune.cache import canonical
from rocm_perf_lab.autotune.space import Configuration, Space
from rocm_perf_lab.autotune.space_file import read_space
from rocm_perf_lab.errors import SpaceError

Values = dict[str, Any]

# The values that Triton's AMD back end uses if a configuration does not set them (HIPOptions).
_DEFAULTS: dict[str, Any] = {"num_warps": 4, "num_stages": 2, "waves_per_eu": 0, "matrix_instr_nonkdim": 0, "kpack": 1}


@dataclass(frozen=True)
class TuningSpace:
    """space: the space of the parameters that are tuned. fixed: values that all configurations have in common."""

    space: Space
    fixed: Values

    def reduced_to(self, valid: Collection[str]) -> TuningSpace:
        """The space reduced to the configurations in `valid` (their values, as written by canonical())."""
        members = [row for row in self.space if canonical(self.space.named(row)) in valid]
        values = dict(zip(self.space.names, self.space.values, strict=True))
        return TuningSpace(Space(values, members=members), self.fixed)

    def configurations_with(self, values: Iterable[Mapping[str, object]]) -> list[Configuration]:
        """The configurations with these values, each listed once; values outside the space are left out."""
        configurations = []
        for named_values in values:
            with contextlib.suppress(KeyError, ValueError):
                configurations.append(self.space.configuration_of(named_values))
        return [row for row in dict.fromkeys(configurations) if row in self.space]


def from_file(path: Path, launch: Mapping[str, Any]) -> TuningSpace:
    """The space in a file. Raises whatever read_space() raises, and SpaceError for a parameter that the function lacks."""
    space_file = read_space(path)
    known = {*launch["constants"], *_DEFAULTS}
    for name in (*space_file.space.names, *space_file.fixed):
        if name not in known:
            message = f"{path}: {name} is neither a constexpr of {launch['kernel']} nor an option of Triton's"
            raise SpaceError(message, f"use {', '.join(sorted(known))}")
    return TuningSpace(space_file.space, dict(space_file.fixed))


def from_configurations(configurations: Sequence[Mapping[str, Any]]) -> TuningSpace:
    """The configurations of `@triton.autotune`. Raises SpaceError if the value of a parameter is missing or not plain."""
    names = list(dict.fromkeys(name for configuration in configurations for name in configuration))
    complete = [{name: _value(configuration, name) for name in names} for configuration in configurations]
    values: dict[str, list[Any]] = {name: _sorted(configuration[name] for configuration in complete) for name in names}
    tuned = [name for name in names if len(values[name]) > 1] or names
    space = Space({name: values[name] for name in tuned}, members=_members(complete, values, tuned))
    return TuningSpace(space, {name: values[name][0] for name in names if name not in tuned})


def _members(complete: Sequence[Values], values: Mapping[str, list[Any]], tuned: Sequence[str]) -> list[Configuration]:
    return [tuple(values[name].index(configuration[name]) for name in tuned) for configuration in complete]


def _value(configuration: Mapping[str, Any], name: str) -> Any:
    if name not in configuration and name not in _DEFAULTS:
        raise SpaceError(f"some configurations of the function set {name}, and others do not", "let all of them set it")
    value = configuration.get(name, _DEFAULTS.get(name))
    if not isinstance(value, (bool, int, float, str)):
        raise SpaceError(f"{name} of a configuration is {json.dumps(value)}", "use numbers, booleans and text")
    return value


def _sorted(values: Any) -> list[Any]:
    return sorted(set(values), key=lambda value: (isinstance(value, str), value))
