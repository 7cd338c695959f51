"""One launch of a Triton function by a script; it can be repeated with different values for the function's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rocm_perf_triton.served.memory import array_of, is_array

Values = dict[str, Any]
_OF_THE_CALL = ("grid", "warmup")


def jit_function(function: Any) -> Any:
    """The `@triton.jit` function underneath the other decorators."""
    while hasattr(function, "fn") and not hasattr(function, "params"):
        function = function.fn
    return function


class ServedLaunch:
    """function: the launched object, with or without `@triton.autotune`.

    arguments, named: the positional and the keyword arguments of its run().
    """

    def __init__(self, function: Any, arguments: tuple[Any, ...], named: Mapping[str, Any]):
        self.function = function
        self.jit = jit_function(function)
        self.grid = named["grid"]
        self.arguments = dict(zip(self.jit.arg_names, arguments)) | {  # noqa: B905 - Python 3.9 has no strict=
            name: value for name, value in named.items() if name not in _OF_THE_CALL
        }
        self._is_tuned = hasattr(function, "configs")
        self._configurations = self._pruned() if self._is_tuned else []

    def run(self, values: Values | None, warmup: bool = False, numbers: Values | None = None) -> Any:
        """Launch the function, or only compile it if `warmup` is true. values: None stands for the script's own values plus,
        for a function with `@triton.autotune`, its first configuration.

        numbers: values that replace arguments of the script. Returns Triton's compiled kernel; raises whatever compiling or
        launching raises.
        """
        configuration = self._configuration(values)
        named = self.values_of_launch(values, numbers)
        if not warmup and configuration is not None and configuration.pre_hook is not None:
            configuration.pre_hook(named)
        return (self.function.fn if self._is_tuned else self.function).run(grid=self.grid, warmup=warmup, **named)

    def values_of_launch(self, values: Values | None, numbers: Values | None = None) -> Values:
        """The name and value of everything that is passed to the function, including options."""
        configuration = self._configuration(values)
        if values is None:
            values = configuration.all_kwargs() if configuration is not None else {}
        return {**self.arguments, **(numbers or {}), **values}

    def programs(self, values: Values | None, numbers: Values | None = None) -> list[int]:
        """The grid for a launch with these values."""
        if not callable(self.grid):
            return list(self.grid)
        return list(self.grid({**_defaults(self.jit), **self.values_of_launch(values, numbers)}))

    def described(self) -> dict[str, Any]:
        """A description for the other process. configurations, key: None for a function without `@triton.autotune`."""
        tuned = self._is_tuned
        return {
            "kernel": self.jit.fn.__name__,
            "file": self.jit.fn.__code__.co_filename,
            "source": self.jit.cache_key,
            "parameters": list(self.jit.arg_names),
            "constants": [parameter.name for parameter in self.jit.params if parameter.is_constexpr],
            "configurations": [_without_num_ctas(configuration.all_kwargs()) for configuration in self._configurations]
            if tuned
            else None,
            "key": list(self.function.keys) if tuned else None,
            "arguments": {name: _described(value) for name, value in self.arguments.items()},
        }

    def _pruned(self) -> list[Any]:
        """The configurations that `prune_configs_by` leaves for these arguments."""
        names = set(self.function.arg_names)
        self.function.nargs = {name: value for name, value in self.arguments.items() if name in names}
        extra = {name: value for name, value in self.arguments.items() if name not in names} | {"grid": self.grid}
        return list(self.function.prune_configs(extra))

    def _configuration(self, values: Values | None) -> Any:
        """The function's configuration with these values, or its first one if `values` is None; None if nothing matches."""
        if values is None:
            return self._configurations[0] if self._configurations else None
        return next(
            (
                configuration
                for configuration in self._configurations
                if _without_num_ctas(configuration.all_kwargs()) == _without_num_ctas(values)
            ),
            None,
        )


def _without_num_ctas(values: Values) -> Values:
    """The values without `num_ctas`: AMD GPUs do not have clusters of workgroups."""
    return {name: value for name, value in values.items() if name != "num_ctas"}


def _defaults(jit: Any) -> Values:
    return {parameter.name: parameter.default for parameter in jit.params if parameter.has_default}


def _described(value: Any) -> dict[str, Any]:
    """kind: array, number or other. dtype: its name in NumPy or PyTorch."""
    if is_array(value):
        array = array_of(value)
        return {
            "kind": "array",
            "dtype": str(array.dtype).rpartition(".")[2],
            "shape": [int(length) for length in getattr(array, "shape", ())],
        }
    if isinstance(value, (bool, int, float)):
        return {"kind": "number", "value": value}
    return {"kind": "other", "value": str(value)}
