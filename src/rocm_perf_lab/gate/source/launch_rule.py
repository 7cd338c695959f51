"""The shape with which the host launches a kernel, as a function of the arguments that it passes: for the baseline, and for a
candidate that changes this shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rocm_perf_lab.code_object import KernelMetadata
from rocm_perf_lab.hip_source.integer_expression import (
    Constant,
    Expression,
    LaunchArgument,
    NoValueError,
    arguments_in,
    in_source,
    value_of,
)
from rocm_perf_lab.hip_source.launch_shapes import Shape
from rocm_perf_lab.isolate import Capture
from rocm_perf_lab.replaying import LaunchConfiguration
from rocm_perf_lab.replaying.launch import captured_launch

Overlays = Sequence[tuple[int, bytes]]
"""Bytes to write over the captured memory before a replay, each with its address."""


@dataclass(frozen=True)
class LaunchRule:
    """The rule for one kernel. shape: as written in the host's code. offsets: (offset, size) of each explicit argument in the
    argument bytes.
    """

    shape: Shape
    offsets: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, shape: Shape, metadata: KernelMetadata) -> LaunchRule:
        return cls(shape, tuple((argument.offset, argument.size) for argument in metadata.arguments if not argument.hidden))

    def launch(self, capture: Capture, overlays: Overlays = ()) -> LaunchConfiguration:
        """The launch with the captured arguments, some of which the overlays may replace. Raises NoValueError if the arguments
        do not yield a valid shape.
        """
        return self.launch_of(self.arguments(capture, overlays))

    def arguments(self, capture: Capture, overlays: Overlays = ()) -> dict[LaunchArgument, int]:
        """The values of the arguments that the shape depends on. Raises NoValueError."""
        content = _argument_bytes(capture, overlays)
        values = {}
        for argument in dict.fromkeys(
            argument for expression in self.shape.expressions for argument in arguments_in(expression)
        ):
            offset, size = self.offsets[argument.position]
            if size * 8 != argument.stored.bits:
                raise NoValueError(f"{argument.name} has a different size in the kernel's arguments")
            values[argument] = argument.passed_as(content[offset : offset + size])
        return values

    def launch_of(self, values: Mapping[LaunchArgument, int]) -> LaunchConfiguration:
        """The launch with these arguments. Raises NoValueError."""
        numbers = [value_of(expression, values.__getitem__) for expression in self.shape.expressions]
        launch = LaunchConfiguration((numbers[0], numbers[1], numbers[2]), (numbers[3], numbers[4], numbers[5]), numbers[6])
        if launch.complaint:
            raise NoValueError(launch.complaint)
        return launch

    def mismatch_with(self, capture: Capture) -> str | None:
        """Why the captured dispatch does not have the shape that this rule gives for its arguments; None if it does."""
        try:
            launch = self.launch(capture)
        except NoValueError as error:
            return str(error)
        actual = captured_launch(capture)
        return None if launch == actual else f"the source gives {launch}, but the dispatch had {actual or 'a different shape'}"

    def __str__(self) -> str:
        return launch_text(self.shape)


@dataclass(frozen=True)
class LaunchRules:
    """The launch rules of a baseline and of a candidate that changes the launches."""

    before: LaunchRule
    after: LaunchRule


def constant_size(shape: Shape) -> int | None:
    """The number of work-items per workgroup if it does not depend on the arguments, else None."""
    sizes = [expression.value for expression in shape.group_size if isinstance(expression, Constant)]
    return sizes[0] * sizes[1] * sizes[2] if len(sizes) == 3 else None


def launch_text(shape: Shape) -> str:
    """The text between `<<<` and `>>>`, without the stream."""
    groups, size, lds = shape_in_source(shape)
    return f"{groups}, {size}" + (f", {lds}" if lds != "0" else "")


def shape_in_source(shape: Shape) -> tuple[str, str, str]:
    """The texts for the grid, the workgroup and the bytes of LDS."""
    return _extent_in_source(shape.groups), _extent_in_source(shape.group_size), _without_conversion(shape.dynamic_lds)


def _extent_in_source(extent: Sequence[Expression]) -> str:
    numbers = [_without_conversion(expression) for expression in extent]
    while len(numbers) > 1 and numbers[-1] == "1":
        numbers.pop()
    return numbers[0] if len(numbers) == 1 else f"dim3({', '.join(numbers)})"


def _without_conversion(expression: Expression) -> str:
    """The expression in C++, without its outermost conversion, if any: C++ converts the operands of a launch anyway."""
    if isinstance(expression, Constant) and expression.value < 2**31:
        return str(expression.value)
    inner = getattr(expression, "inner", None)
    return in_source(expression if inner is None else inner)


def _argument_bytes(capture: Capture, overlays: Overlays) -> bytes:
    content = bytearray((capture.path / "kernarg.bin").read_bytes())
    start = int(capture.dispatch["packet"]["kernarg_address"], 16)
    for address, written in overlays:
        low, high = max(address, start), min(address + len(written), start + len(content))
        if low < high:
            content[low - start : high - start] = written[low - address : high - address]
    return bytes(content)
