"""The inputs of a captured kernel: the typed memory reachable through its arguments, and the numbers passed by value.

Pointers inside structs and in memory are followed too, up to a fixed depth and number.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.code_object import KernelMetadata
from rocm_perf_lab.gate.equivalence.numbers import dtype_of
from rocm_perf_lab.gate.equivalence.program_memory import writable_variables
from rocm_perf_lab.hip_source import SourceKernel
from rocm_perf_lab.hip_source.demangle import demangled
from rocm_perf_lab.hip_source.layout import Leaf, TypeLayout, Types
from rocm_perf_lab.isolate import Capture

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocm_perf_lab.gate.equivalence.numbers import Bytes, Numbers

_MAX_DEPTH = 3  # length of the longest chain of pointers
_MAX_POINTERS = 64  # pointers followed from one buffer
_MAX_BUFFERS = 512
_MAX_NUMBERS = 32  # numbers passed by value; each adds cases of its own
_POINTER = np.dtype("<u8")
_ADDRESS_SIZED = ("int64", "uint64")
_WORDS = TypeLayout("unsigned int", 4, (Leaf("", 0, "uint32"),))
"""The type assumed for memory whose address is held in an integer. The memory's true type matters little: any bits are a
possible value of it, unless it is a pointer.
"""


@dataclass(frozen=True)
class Buffer:
    """Memory of one type behind a pointer, up to the end of the allocation or to the target of a different pointer.

    The first buffer of an allocation also includes the `before` elements in front of the pointer's target, which negative
    indices reach.

    name: as written in source code (`args.table[3]`). parameter: the kernel parameter through which it is reached; for a device
    variable, its own name. count: number of elements. is_variable: whether it is a device variable, whose only element is named
    without an index.
    """

    name: str
    parameter: str
    address: int
    layout: TypeLayout
    count: int
    is_variable: bool = False
    before: int = 0

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.count * self.layout.size

    def view(self, content: Bytes, leaf: Leaf) -> Numbers:
        """The leaf's numbers as a view of the buffer's bytes (uint8), shape (count, *dims); writing to the view
        changes these bytes.
        """
        dtype = _POINTER if leaf.scalar is None else dtype_of(leaf.scalar)
        shape = (self.count, *(count for count, _ in leaf.dims))
        strides = (self.layout.size, *(stride for _, stride in leaf.dims))
        numbers: Numbers = np.ndarray(shape, dtype, content, leaf.offset, strides)
        return numbers

    def element(self, leaf: Leaf, index: tuple[int, ...]) -> str:
        """The name of one number, such as `out[17].x`. index: into the array that view() returns."""
        return (
            f"{self.name}{'' if self.is_variable else f'[{index[0] - self.before}]'}{path_with_indices(leaf.path, index[1:])}"
        )


@dataclass(frozen=True)
class NumberArgument:
    """A number passed by value, alone or in a struct. address: its location in the captured kernel arguments. values: all
    possible values if these are known (bool, an enum).
    """

    name: str
    address: int
    scalar: str
    value: int | float
    values: tuple[int, ...] | None = None


@dataclass(frozen=True)
class UnvariedInput:
    """An input whose values cannot be changed meaningfully, and the reason. address, size: the memory behind it; size is in
    bytes, and 0 if no such memory is known.
    """

    name: str
    type: str
    reason: str
    address: int = 0
    size: int = 0

    def __str__(self) -> str:
        return f"`{self.name}` ({self.type}: {self.reason})"


@dataclass(frozen=True)
class PointerArgument:
    """A pointer passed by value, alone or in a struct. address: its location in the captured kernel arguments."""

    name: str
    address: int
    pointee: str
    target: int


@dataclass
class KernelInputs:
    """A kernel's inputs. buffers: in the order of discovery; each ends where the next one in memory begins, unless that would
    leave it without elements.
    """

    buffers: list[Buffer] = field(default_factory=list)
    numbers: list[NumberArgument] = field(default_factory=list)
    unvaried: list[UnvariedInput] = field(default_factory=list)
    pointers: list[PointerArgument] = field(default_factory=list)


@dataclass(frozen=True)
class _Pointer:
    name: str
    parameter: str
    address: int
    pointee: str | None  # None for an integer that is an address
    depth: int


def path_with_indices(path: str, index: tuple[int, ...]) -> str:
    """A Leaf.path with its indices filled in."""
    for number in index:
        path = path.replace("[]", f"[{number}]", 1)
    return path


def kernel_inputs_of(capture: Capture, kernel: SourceKernel, types: Types, metadata: KernelMetadata) -> KernelInputs:
    """Find the inputs of a captured dispatch.

    types: the types of the captured instantiation's parameters (hip_source.parameter_layout).
    """
    kernarg = int(capture.dispatch["packet"]["kernarg_address"], 16)
    content = (capture.path / "kernarg.bin").read_bytes()
    explicit = [argument for argument in metadata.arguments if not argument.hidden]
    inputs = KernelInputs()
    pointers: deque[_Pointer] = deque()
    passed = zip(kernel.parameters, types.parameters, explicit, strict=False)  # the code may have more parameters
    for parameter, layout, argument in passed:
        raw = np.frombuffer(content[argument.offset : argument.offset + argument.size], np.uint8)
        inputs.unvaried += [UnvariedInput(parameter.name + path, layout.spelling, why) for path, why in layout.unknown]
        if layout.size == raw.size:
            buffer = Buffer(parameter.name, parameter.name, kernarg + argument.offset, layout, 1)
            by_value = list(_pointers_by_value(buffer, raw))
            pointers += [pointer for pointer, _ in by_value]
            inputs.pointers += [
                PointerArgument(pointer.name, address, _without_const(pointer.pointee), pointer.address)
                for pointer, address in by_value
                if pointer.pointee is not None and pointer.address
            ]
            inputs.numbers += _number_arguments(buffer, raw)
            pointers += _addresses(capture, buffer, raw, 0)
            inputs.unvaried += _unchangeable_arguments(buffer, raw)
    if beyond := inputs.numbers[_MAX_NUMBERS:]:
        why = f"it and the numbers after it are beyond the first {_MAX_NUMBERS} numbers passed by value"
        inputs.unvaried.append(UnvariedInput(beyond[0].name, beyond[0].scalar, why))
        del inputs.numbers[_MAX_NUMBERS:]
    for variable in _variables(capture, types):
        inputs.buffers.append(variable)
        inputs.unvaried += [
            UnvariedInput(variable.name + path, variable.layout.spelling, why) for path, why in variable.layout.unknown
        ]
        pointers += _pointers_and_addresses_in(capture, variable, 0, inputs)
    inputs.unvaried += _variables_of_unknown_type(capture, types)
    _follow(capture, types, pointers, inputs)
    inputs.buffers = _extended_to_allocation_starts(capture, _without_overlaps(inputs.buffers))
    return inputs


def _variables(capture: Capture, types: Types) -> Iterator[Buffer]:
    """The source's device variables that the captured code object contains too, with a matching size."""
    for loaded in capture.dispatch["code_object"]["variables"]:
        name, layout = types.variables.get(loaded["name"], ("", None))
        if layout is not None and 0 < layout.size == loaded["bytes"]:
            yield Buffer(name, name, int(loaded["address"], 16), layout, 1, is_variable=True)


def _variables_of_unknown_type(capture: Capture, types: Types) -> Iterator[UnvariedInput]:
    """Variables whose types the source does not reveal, such as variables of templates and of system headers."""
    for symbol, size in writable_variables(capture).items():
        _, layout = types.variables.get(symbol, ("", None))
        if layout is None or layout.size != size:
            yield UnvariedInput(demangled(symbol), "variable", "its type is not known")


def _indices(leaf: Leaf) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(count) for count, _ in leaf.dims))


def _unchangeable_arguments(buffer: Buffer, raw: Bytes) -> Iterator[UnvariedInput]:
    """Inputs passed by value that cannot be changed: enums with no other value, and null pointers."""
    for leaf in buffer.layout.leaves:
        if leaf.enumerators is not None and len(leaf.enumerators) < 2:
            yield UnvariedInput(buffer.name + leaf.path, leaf.scalar or "", "its enum has no value other than the captured one")
        elif leaf.pointee is not None and not raw[leaf.offset : leaf.offset + 8].any():
            yield UnvariedInput(buffer.name + leaf.path, f"{leaf.pointee}*", "it was null")


def _without_const(type_name: str) -> str:
    return type_name.replace("const ", "").removesuffix(" const")


def _pointers_by_value(buffer: Buffer, raw: Bytes) -> Iterator[tuple[_Pointer, int]]:
    """The pointers in an argument, each with its location."""
    for leaf in buffer.layout.leaves:
        if leaf.pointee is None:
            continue
        for index in _indices(leaf):
            position = (0, *index)
            target = int(buffer.view(raw, leaf)[position])
            location = buffer.address + _offset(leaf, index)
            yield (
                _Pointer(buffer.name + path_with_indices(leaf.path, index), buffer.parameter, target, leaf.pointee, 0),
                location,
            )


def _addresses(capture: Capture, buffer: Buffer, content: Bytes, depth: int) -> list[_Pointer]:
    """Integers that are addresses of captured memory, as in programs written in a language without pointers."""
    pointers: dict[int, _Pointer] = {}
    for leaf in buffer.layout.leaves:
        if leaf.scalar in _ADDRESS_SIZED:
            values = buffer.view(content, leaf)
            for index in map(tuple, np.argwhere(_is_captured(capture, values))[:_MAX_POINTERS]):
                address = int(values[index])
                pointers.setdefault(
                    address, _Pointer(f"*{buffer.element(leaf, index)}", buffer.parameter, address, None, depth)
                )
    return list(pointers.values())[:_MAX_POINTERS]


def _is_captured(capture: Capture, values: Numbers) -> NDArray[np.bool_]:
    """For each number, whether it is an address in an allocation of data."""
    extents = sorted(extent for region in capture.regions if region.kind != "code" for extent in region.allocations)
    if not extents:
        return np.zeros(values.shape, bool)
    starts, sizes = np.array(extents, np.uint64).T
    numbers = values.astype(np.uint64)
    allocation = np.maximum(np.searchsorted(starts, numbers, side="right"), 1) - 1
    inside: NDArray[np.bool_] = (numbers >= starts[allocation]) & (numbers - starts[allocation] < sizes[allocation])
    return inside


def _number_arguments(buffer: Buffer, raw: Bytes) -> Iterator[NumberArgument]:
    for leaf in buffer.layout.leaves:
        if leaf.scalar is None:
            continue
        values = (0, 1) if leaf.scalar == "bool" else leaf.enumerators
        for index in itertools.islice(_indices(leaf), _MAX_NUMBERS + 1):
            position = (0, *index)
            value = buffer.view(raw, leaf)[position]
            number = int(value) if value.dtype.kind in "iub" else float(value)
            address = buffer.address + _offset(leaf, index)
            yield NumberArgument(buffer.name + path_with_indices(leaf.path, index), address, leaf.scalar, number, values)


def _offset(leaf: Leaf, index: tuple[int, ...]) -> int:
    return leaf.offset + sum(i * stride for i, (_, stride) in zip(index, leaf.dims, strict=True))


def _follow(capture: Capture, types: Types, pointers: deque[_Pointer], inputs: KernelInputs) -> None:
    """Add the buffers behind the pointers, and the buffers behind the pointers in those buffers, and so on."""
    seen: dict[int, Buffer] = {}
    while pointers:
        pointer = pointers.popleft()
        if not pointer.address or pointer.address in seen:
            continue
        buffer = _buffer(capture, types, pointer)
        if isinstance(buffer, Buffer) and len(seen) == _MAX_BUFFERS:
            buffer = UnvariedInput(
                pointer.name, f"{buffer.layout.spelling}*", f"it is beyond the first {_MAX_BUFFERS} pointers"
            )
        if isinstance(buffer, UnvariedInput):
            inputs.unvaried.append(buffer)
            continue
        if _holds_pointers(buffer.layout) and any(_is_element_of(buffer, other) for other in seen.values()):
            continue  # a node of a list or tree stored in an array
        seen[buffer.address] = buffer
        inputs.buffers.append(buffer)
        inputs.unvaried += [
            UnvariedInput(buffer.name + path, buffer.layout.spelling, why) for path, why in buffer.layout.unknown
        ]
        pointers += _pointers_and_addresses_in(capture, buffer, pointer.depth, inputs)


def _buffer(capture: Capture, types: Types, pointer: _Pointer) -> Buffer | UnvariedInput:
    layout = _WORDS if pointer.pointee is None else types.behind[pointer.pointee]
    size = bytes_behind(capture, pointer.address)

    def unknown(why: str) -> UnvariedInput:
        return UnvariedInput(pointer.name, f"{layout.spelling}*", why, pointer.address, size)

    if not layout.leaves or not layout.size:
        return unknown(next((why for _, why in layout.unknown), "it holds no numbers"))
    if not size:
        return unknown("it points to nothing that was captured")
    if size < layout.size:
        return unknown("it points to less than one element")
    return Buffer(pointer.name, pointer.parameter, pointer.address, layout, size // layout.size)


def _holds_pointers(layout: TypeLayout) -> bool:
    return any(leaf.scalar is None for leaf in layout.leaves)


def _is_element_of(buffer: Buffer, array: Buffer) -> bool:
    offset = buffer.address - array.address
    return buffer.layout == array.layout and 0 <= offset < array.size and offset % buffer.layout.size == 0


def _pointers_and_addresses_in(capture: Capture, buffer: Buffer, depth: int, inputs: KernelInputs) -> list[_Pointer]:
    """The buffer's pointers to captured memory, and its integers that are addresses of captured memory."""
    pointers = _pointers_in(capture, buffer, depth, inputs)
    if depth < _MAX_DEPTH and any(leaf.scalar in _ADDRESS_SIZED for leaf in buffer.layout.leaves):
        content = np.frombuffer(capture.memory(buffer.address, buffer.size), np.uint8)
        pointers += _addresses(capture, buffer, content, depth + 1)
    return pointers


def _pointers_in(capture: Capture, buffer: Buffer, depth: int, inputs: KernelInputs) -> list[_Pointer]:
    """The buffer's pointers to captured memory; those that are not followed are recorded as unvaried."""
    if not _holds_pointers(buffer.layout):
        return []
    if depth == _MAX_DEPTH:
        inputs.unvaried.append(
            UnvariedInput(buffer.name, buffer.layout.spelling, "its pointers are nested too deeply to be followed")
        )
        return []
    content = np.frombuffer(capture.memory(buffer.address, buffer.size), np.uint8)
    pointers: dict[int, _Pointer] = {}
    for leaf in buffer.layout.leaves:
        if leaf.pointee is not None:
            values = buffer.view(content, leaf)
            for index in map(tuple, np.argwhere(values)):
                address = int(values[index])
                if address not in pointers and bytes_behind(capture, address):
                    name = buffer.element(leaf, index)
                    pointers[address] = _Pointer(name, buffer.parameter, address, leaf.pointee, depth + 1)
                if len(pointers) > _MAX_POINTERS:
                    break
    if len(pointers) > _MAX_POINTERS:
        why = f"it has more than {_MAX_POINTERS} pointers; the others are not followed"
        inputs.unvaried.append(UnvariedInput(buffer.name, buffer.layout.spelling, why))
    return list(pointers.values())[:_MAX_POINTERS]


def _without_overlaps(buffers: list[Buffer]) -> list[Buffer]:
    """Truncate each buffer where the next one in memory begins, so that each byte has the type and name of the last pointer at
    or before it. A buffer that would be left without elements keeps its size.
    """
    addresses = sorted(buffer.address for buffer in buffers)
    following = dict(itertools.pairwise(addresses))
    return [_truncated(buffer, following.get(buffer.address)) for buffer in buffers]


def _extended_to_allocation_starts(capture: Capture, buffers: list[Buffer]) -> list[Buffer]:
    """The buffers in the same order; the first one in each allocation is extended back to the allocation's start."""
    starts = {buffer.address: _allocation_start(capture, buffer) for buffer in buffers}
    first: dict[int, int] = {}
    for address, start in sorted(starts.items()):
        first.setdefault(start, address)
    return [
        _extended_back_to(buffer, start) if first[start := starts[buffer.address]] == buffer.address else buffer
        for buffer in buffers
    ]


def _allocation_start(capture: Capture, buffer: Buffer) -> int:
    """Where the buffer's allocation begins. A variable has no allocation: the bytes before it are code or another variable."""
    for region in capture.regions if not buffer.is_variable else ():
        for start, size in region.allocations if region.kind != "code" else ():
            if start <= buffer.address < start + size:
                return start
    return buffer.address


def _extended_back_to(buffer: Buffer, start: int) -> Buffer:
    before = (buffer.address - start) // buffer.layout.size
    address = buffer.address - before * buffer.layout.size
    return replace(buffer, address=address, count=buffer.count + before, before=before)


def _truncated(buffer: Buffer, end: int | None) -> Buffer:
    count = buffer.count if end is None else min(buffer.count, (end - buffer.address) // buffer.layout.size)
    return replace(buffer, count=count) if count else buffer


def bytes_behind(capture: Capture, address: int) -> int:
    """Bytes from `address` to the end of its allocation; 0 if it does not point to captured memory."""
    for region in capture.regions:
        for start, size in region.allocations:
            if start <= address < start + size:
                return start + size - address
    return 0
