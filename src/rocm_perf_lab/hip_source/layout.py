"""Locates the numbers and pointers in a type: their kinds, and their offsets in Clang's layout of the type for the device.

No Clang objects are kept, so a layout outlives the parsed source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import ClangType, Cursor

_Dims = tuple[tuple[int, int], ...]  # (count, stride in bytes) for each index, outermost first
_Unknown = tuple[str, str]  # path, reason

_MAX_LEAVES = 256  # per type; further leaves are reported as unknown

_BUILTIN = {
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "FLOAT16": "float16",
    "HALF": "float16",
    "__bf16": "bfloat16",
    "BOOL": "bool",
}
_SIGNED = ("CHAR_S", "SCHAR", "SHORT", "INT", "LONG", "LONGLONG")
_UNSIGNED = ("CHAR_U", "UCHAR", "CHAR16", "CHAR32", "USHORT", "UINT", "ULONG", "ULONGLONG")
_WCHAR = "WCHAR"

# Records in HIP's headers that represent numbers: (type of the numbers, count).
_FP8 = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "e4m3_fnuz": "float8_e4m3fnuz", "e5m2_fnuz": "float8_e5m2fnuz"}
_NUMBERS: dict[str, tuple[str, int]] = {
    "__half": ("float16", 1),
    "__half_raw": ("float16", 1),
    "__half2": ("float16", 2),
    "__half2_raw": ("float16", 2),
    "__hip_bfloat16": ("bfloat16", 1),
    "__hip_bfloat16_raw": ("bfloat16", 1),
    "hip_bfloat16": ("bfloat16", 1),
    "__hip_bfloat162": ("bfloat16", 2),
    "__hip_bfloat162_raw": ("bfloat16", 2),
} | {
    f"__hip_fp8{times}_{format_}": (scalar, count)
    for format_, scalar in _FP8.items()
    for times, count in (("", 1), ("x2", 2), ("x4", 4))
}

BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "bool": 1}
BYTES |= dict.fromkeys(_FP8.values(), 1) | {f"{sign}int{8 * n}": n for n in (1, 2, 4, 8) for sign in ("", "u")}
"""Size in bytes of each kind of number; the names are those of NumPy and ml_dtypes."""


@dataclass(frozen=True)
class Leaf:
    """The numbers of one kind, or the pointers, at one place in a type.

    path: how the source reaches them, with [] for an index (`.rows[].x`). offset: byte offset of the first one. scalar: their
    kind (a key of BYTES); None for pointers. dims: (count, stride) for each []. enumerators: the values that an enum names,
    since others may be meaningless; None if it is not an enum. pointee: spelling of the type that pointers point to.
    """

    path: str
    offset: int
    scalar: str | None
    dims: _Dims = ()
    enumerators: tuple[int, ...] | None = None
    pointee: str | None = None

    @property
    def count(self) -> int:
        return prod(count for count, _ in self.dims)

    @property
    def enumerated(self) -> bool:
        return self.enumerators is not None


@dataclass(frozen=True)
class TypeLayout:
    """The layout of a type. size: its size in bytes. unknown: the parts that are neither numbers nor pointers of a known kind,
    each with the reason.
    """

    spelling: str
    size: int
    leaves: tuple[Leaf, ...] = ()
    unknown: tuple[_Unknown, ...] = ()


@dataclass(frozen=True)
class Types:
    """The layouts of a kernel's parameters and of the source's device variables.

    parameters: the type of each parameter. behind: the layout for every spelling that occurs as a Leaf.pointee. variables:
    (name in the source, layout) for each device variable, keyed by symbol.
    """

    parameters: tuple[TypeLayout, ...]
    behind: Mapping[str, TypeLayout]
    variables: Mapping[str, tuple[str, TypeLayout]] = field(default_factory=dict)


def types_of(parameters: list[ClangType | None], spellings: list[str]) -> Types:
    """The layouts of Clang types, and of all types reachable through their pointers. None stands for a type that Clang cannot
    resolve.
    """
    layouts: list[TypeLayout] = []
    behind: dict[str, TypeLayout] = {}
    wanted: list[ClangType] = []
    for type_, spelling in zip(parameters, spellings, strict=True):
        if type_ is None:
            layouts.append(TypeLayout(spelling, 0, unknown=(("", "its type cannot be named outside of the kernel"),)))
        else:
            layouts.append(layout_of(type_, wanted))
    while wanted:
        pointee = wanted.pop()
        if (spelling := spelled(pointee)) not in behind:
            behind[spelling] = layout_of(pointee, wanted)
    return Types(tuple(layouts), behind)


def spelled(type_: ClangType) -> str:
    """The canonical spelling without top-level const and volatile."""
    words: str = type_.get_canonical().spelling
    while words.startswith(("const ", "volatile ")):
        words = words.partition(" ")[2]
    return words


def layout_of(type_: ClangType, wanted: list[ClangType]) -> TypeLayout:
    """The layout of a type. wanted: receives the types to which its pointers point."""
    type_ = type_.get_canonical()
    leaves: list[Leaf] = []
    unknown: list[_Unknown] = []
    for part in _leaves(type_, "", 0, (), wanted):
        if isinstance(part, Leaf) and len(leaves) < _MAX_LEAVES:
            leaves.append(part)
        elif isinstance(part, Leaf):
            unknown.append((part.path, f"it has more than {_MAX_LEAVES} members"))
            break
        else:
            unknown.append(part)
    return TypeLayout(spelled(type_), max(0, type_.get_size()), tuple(leaves), tuple(unknown))


def _leaves(type_: ClangType, path: str, offset: int, dims: _Dims, wanted: list[ClangType]) -> Iterator[Leaf | _Unknown]:
    """A type's leaves, and its parts that are not leaves. Recursion is bounded by the nesting of records in the source."""
    type_ = type_.get_canonical()
    kind, size = _kind(type_), type_.get_size()
    if scalar := _scalar(kind, size):
        yield Leaf(path, offset, scalar, dims)
    elif kind == "POINTER":
        wanted.append(type_.get_pointee())
        yield Leaf(path, offset, None, dims, pointee=spelled(type_.get_pointee()))
    elif kind == "ENUM":
        declaration = type_.get_declaration()
        scalar = _scalar(_kind(declaration.enum_type.get_canonical()), size) or f"uint{8 * size}"
        values = (constant.enum_value for constant in declaration.get_children() if constant.kind.name == "ENUM_CONSTANT_DECL")
        yield Leaf(path, offset, scalar, dims, tuple(dict.fromkeys(values)))
    elif size <= 0:
        yield path, "its type is incomplete" if kind == "RECORD" else f"{type_.spelling} has no values"
    elif kind in ("CONSTANTARRAY", "VECTOR", "EXTVECTOR", "COMPLEX"):
        yield from _elements(type_, kind, path, offset, dims, wanted)
    elif kind == "RECORD":
        yield from _members(type_, path, offset, dims, wanted)
    else:
        yield path, f"{type_.spelling} is not a type whose values are known"


def _elements(
    type_: ClangType, kind: str, path: str, offset: int, dims: _Dims, wanted: list[ClangType]
) -> Iterator[Leaf | _Unknown]:
    element = type_.element_type
    count = 2 if kind == "COMPLEX" else type_.element_count
    if kind.endswith("VECTOR") and _kind(element.get_canonical()) == "BOOL":
        yield path, "it is a vector of bits"
        return
    if count:
        yield from _leaves(element, f"{path}[]", offset, (*dims, (count, element.get_size())), wanted)


def _members(type_: ClangType, path: str, offset: int, dims: _Dims, wanted: list[ClangType]) -> Iterator[Leaf | _Unknown]:
    declaration = type_.get_declaration()
    if number := _number(declaration, type_.get_size()):
        scalar, count = number
        more = () if count == 1 else ((count, BYTES[scalar]),)
        yield Leaf(path + "[]" * len(more), offset, scalar, (*dims, *more))
        return
    if declaration.kind.name == "UNION_DECL":
        yield from _member_of_union(type_, path, offset, dims)
        return
    for base in type_.get_bases():
        if base.is_virtual_base():
            yield path, f"{base.spelling} is a virtual base"
        else:
            yield from _leaves(base.type, path, offset + base.get_base_offsetof(declaration) // 8, dims, wanted)
    for member in type_.get_fields():
        name = _member(path, member)
        if member.is_bitfield():
            yield name, "it is a bit-field"
        else:
            yield from _leaves(member.type, name, offset + member.get_field_offsetof() // 8, dims, wanted)


def _member_of_union(type_: ClangType, path: str, offset: int, dims: _Dims) -> Iterator[Leaf | _Unknown]:
    """The leaves of a member that fills the union with numbers of one kind, preferably floating-point; if there is no such
    member, the union is reported as unknown.
    """
    filling: list[tuple[str, list[Leaf]]] = []
    for member in type_.get_fields():
        parts = list(_leaves(member.type, _member("", member), 0, (), []))
        leaves = [part for part in parts if isinstance(part, Leaf)]
        scalar = leaves[0].scalar if leaves else None
        if scalar is None or len(leaves) < len(parts) or any(leaf.scalar != scalar for leaf in leaves):
            continue
        if sum(leaf.count for leaf in leaves) * BYTES[scalar] == type_.get_size():
            filling.append((scalar, leaves))
    if not filling:
        yield path, "it is a union without a member that consists of numbers of one kind"
        return
    _, leaves = min(filling, key=lambda member: "float" not in member[0])
    for leaf in leaves:
        yield replace(leaf, path=path + leaf.path, offset=offset + leaf.offset, dims=(*dims, *leaf.dims))


def _member(path: str, member: Cursor) -> str:
    """The path of a member; members of an unnamed record are named as if they were the outer record's."""
    unnamed = member.is_anonymous() or not member.spelling
    return path if unnamed else f"{path}.{member.spelling}"


def _number(declaration: Cursor, size: int) -> tuple[str, int] | None:
    """The numbers that a record from HIP's headers represents."""
    number = _NUMBERS.get(declaration.spelling)
    return number if number and BYTES[number[0]] * number[1] == size else None


def _scalar(kind: str, size: int) -> str | None:
    if kind in _BUILTIN:
        return _BUILTIN[kind]
    if kind in (*_SIGNED, _WCHAR):
        return f"int{8 * size}"
    return f"uint{8 * size}" if kind in _UNSIGNED else None


def _kind(type_: ClangType) -> str:
    """The name of a type's kind, or the type's spelling if libclang or its Python bindings have no kind for it (__bf16)."""
    try:
        kind = type_.kind.name
    except ValueError:
        kind = "UNEXPOSED"
    return spelled(type_) if kind == "UNEXPOSED" else kind
