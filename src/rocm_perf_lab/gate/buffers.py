"""What a captured kernel was given: its buffers with the types that the source gives them, and its numbers by value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocm_perf_lab.code_object import KernelMetadata
from rocm_perf_lab.hip_source import Kernel
from rocm_perf_lab.isolate import Capture

# Clang's canonical types; bf16 is left out, since NumPy has none.
FLOATS = {"float": np.dtype("<f4"), "double": np.dtype("<f8"), "_Float16": np.dtype("<f2"), "__half": np.dtype("<f2")}
INTEGERS = {
    "int": np.dtype("<i4"),
    "unsigned int": np.dtype("<u4"),
    "long": np.dtype("<i8"),
    "unsigned long": np.dtype("<u8"),
    "long long": np.dtype("<i8"),
    "unsigned long long": np.dtype("<u8"),
}


@dataclass(frozen=True)
class Buffer:
    """Floating-point memory behind a pointer argument: from the pointer to the end of the allocation it points into."""

    name: str
    address: int
    dtype: np.dtype
    count: int


@dataclass(frozen=True)
class Number:
    """A number passed by value. address: where it lies in the captured kernel arguments."""

    name: str
    address: int
    dtype: np.dtype
    value: int | float


def arguments_of(capture: Capture, kernel: Kernel, metadata: KernelMetadata) -> tuple[list[Buffer], list[Number]]:
    """Each floating-point buffer once, in the order of the arguments, and every number."""
    kernarg = int(capture.dispatch["packet"]["kernarg_address"], 16)
    content = (capture.path / "kernarg.bin").read_bytes()
    explicit = [argument for argument in metadata.arguments if not argument.hidden]
    buffers: dict[int, Buffer] = {}
    numbers = []
    types = _types(capture, kernel)
    for parameter, (type_name, pointee), argument in zip(kernel.parameters, types, explicit, strict=False):
        raw = content[argument.offset : argument.offset + argument.size]
        if argument.value_kind == "by_value":
            dtype = (FLOATS | INTEGERS).get(_plain(type_name))
            if dtype is not None and dtype.itemsize == len(raw):
                value = np.frombuffer(raw, dtype)[0].item()
                numbers.append(Number(parameter.name, kernarg + argument.offset, dtype, value))
        elif (dtype := FLOATS.get(_plain(pointee or ""))) is not None:
            address = int.from_bytes(raw, "little")
            if (size := _bytes_behind(capture, address)) >= dtype.itemsize:
                buffers.setdefault(address, Buffer(parameter.name, address, dtype, size // dtype.itemsize))
    return list(buffers.values()), numbers


def _types(capture: Capture, kernel: Kernel) -> list[tuple[str, str | None]]:
    """Each parameter's type and, for a pointer, what it points to. A template's are those of the captured instantiation."""
    if kernel.template is None:
        return [(parameter.canonical, parameter.pointee) for parameter in kernel.parameters]
    names = parameter_types(capture.kernel)
    return [(name, name[:-1].strip() if name.endswith("*") else None) for name in names]


def parameter_types(demangled: str) -> list[str]:
    """Of a demangled function: "void k<float>(float const*, int)" gives ["float const*", "int"]."""
    depth, start, types = 0, None, []
    for place, letter in enumerate(demangled):
        if letter == "(" and depth == 0:
            start, types = place + 1, []
        if letter in ",)" and start is not None and depth == 1:
            types.append(demangled[start:place].strip())
            start = place + 1
        depth += (letter in "<([") - (letter in ">)]")
    return [name for name in types if name]


def _plain(type_name: str) -> str:
    words = [word for word in type_name.split() if word not in ("const", "volatile", "__restrict", "restrict")]
    return " ".join(words).removeprefix("struct ")


def _bytes_behind(capture: Capture, address: int) -> int:
    """From `address` to the end of its allocation; 0 where it points to nothing that was captured."""
    for region in capture.regions:
        for start, size in region.allocations:
            if start <= address < start + size:
                return start + size - address
    return 0
