"""Where the host code of a source launches a kernel, with which block sizes, and which variables the arguments come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import libclang
from rocm_perf_lab.hip_source.cursors import walk, walk_below
from rocm_perf_lab.hip_source.kernels import identity_of
from rocm_perf_lab.hip_source.memoize import once_per_unit
from rocm_perf_lab.hip_source.name_index import CONFIGURATION
from rocm_perf_lab.hip_source.source_parts import SourceKernel

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import HipSource, TranslationUnit

_POINTERS = ("POINTER", "CONSTANTARRAY", "INCOMPLETEARRAY", "RECORD", "LVALUEREFERENCE", "UNEXPOSED")
_NUMBERS = ("BOOL", "INT", "UINT", "LONG", "ULONG", "LONGLONG", "ULONGLONG", "FLOAT", "DOUBLE")


@dataclass(frozen=True)
class LaunchSite:
    """`kernel<<<grid, block, ...>>>(arguments)`, or the same launch written with hipLaunchKernelGGL.

    block: its size in x, y and z; None if it is not constant. address_names: for each argument, the names of the variables and
    members in it that may hold addresses. call, arguments: Clang's cursors, for further analysis. callee: the identity of the
    launched function; None if that is not known.
    """

    line: int
    block: tuple[int, int, int] | None
    address_names: tuple[frozenset[str], ...]
    call: Cursor
    arguments: tuple[Cursor, ...]
    callee: str | None


@dataclass(frozen=True)
class Launches:
    """All launches of one kernel. other_uses: lines that use its name in other ways, so some launches may be missed."""

    sites: tuple[LaunchSite, ...]
    other_uses: tuple[int, ...]


@once_per_unit
def launches_of(host: TranslationUnit, kernel: SourceKernel) -> Launches:
    search = _Search(host, kernel)
    for cursor in host.user_declarations:
        search.visit(cursor)
    return Launches(tuple(search.launches), tuple(search.other_uses))


def launch_sites_by_unit(source: HipSource, kernel: SourceKernel) -> Iterator[tuple[HipSource, Launches]]:
    """The launches of the source's kernel in each unit of the program. Raises SourceError."""
    for unit in (source, *source.other_units):
        yield unit, launches_of(unit.host, kernel)


class _Search:
    def __init__(self, unit: TranslationUnit, kernel: SourceKernel):
        self._unit, self._kinds, self._kernel = unit, unit.bindings.CursorKind, kernel
        self._name = kernel.name.rsplit("::", 1)[-1]
        self.launches: list[LaunchSite] = []
        self.other_uses: list[int] = []

    def visit(self, cursor: Cursor) -> None:
        left = [cursor]
        while left:
            cursor = left.pop()
            children = list(cursor.get_children())
            if cursor.kind == self._kinds.CALL_EXPR and len(children) > 1 and children[1].spelling == CONFIGURATION:
                if self._calls_kernel(children[0]):
                    self._launch(cursor, children[1], children[2:], self._identity(children[0]))
                    children = children[1:]
            elif self._names(cursor) or self._is_label(cursor):
                self.other_uses.append(cursor.location.line)
            left += reversed(children)

    def _calls_kernel(self, callee: Cursor) -> bool:
        return any(self._names(cursor) for cursor in walk(callee))

    def _identity(self, callee: Cursor) -> str | None:
        """The identity of the function, or of the template from which it is instantiated."""
        made_from = self._unit.bindings.conf.lib.clang_getSpecializedCursorTemplate
        named = next(cursor for cursor in walk(callee) if self._names(cursor))
        function = named.referenced if named.kind == self._kinds.DECL_REF_EXPR else None
        if function is None:
            return None
        template = made_from(function)
        return identity_of(function if template.is_null() else template)

    def _names(self, cursor: Cursor) -> bool:
        """Whether the cursor refers to the kernel, judged by name alone: including other functions with that name is safe. A
        numeric variable with that name does not count.
        """
        refers = cursor.kind in (self._kinds.DECL_REF_EXPR, self._kinds.OVERLOADED_DECL_REF) and cursor.spelling == self._name
        return refers and not self._is_number(cursor.referenced)

    def _is_number(self, declaration: Cursor | None) -> bool:
        if declaration is None or declaration.kind not in (self._kinds.VAR_DECL, self._kinds.PARM_DECL):
            return False
        return declaration.type.get_canonical().kind.name in _NUMBERS

    def _is_label(self, cursor: Cursor) -> bool:
        """Whether a hand-written symbol may be the kernel's handle: `extern char handle asm("_Z4rowsPf")`."""
        return cursor.kind == self._kinds.ASM_LABEL_ATTR and self._name in cursor.spelling

    def _launch(self, call: Cursor, configuration: Cursor, arguments: list[Cursor], callee: str | None) -> None:
        operands = list(configuration.get_children())[1:]
        block = self._dimensions(operands[1]) if len(operands) > 1 else None
        address_names = tuple(self._address_names(argument) for argument in arguments)
        self.launches.append(LaunchSite(call.location.line, block, address_names, call, tuple(arguments), callee))

    def _dimensions(self, operand: Cursor) -> tuple[int, int, int] | None:
        """The dimensions of a dim3 written in the launch itself, or of a local variable that nothing changes.

        Only wrappers around the whole value are removed: a dim3 inside anything else, such as a conditional expression, is not
        necessarily the block.
        """
        kinds = self._kinds
        inside = [child for child in operand.get_children() if child.kind.is_expression()]
        if operand.kind == kinds.CALL_EXPR and is_construction(operand):
            if len(inside) == 1 and is_dim3(inside[0]):
                return self._dimensions(inside[0])  # a copy
            return self._constants(inside)
        if operand.kind == kinds.DECL_REF_EXPR and operand.referenced is not None:
            variable = operand.referenced
            if variable.kind != kinds.VAR_DECL or not is_dim3(variable) or not is_unchanged(variable):
                return None
            initializer = next((c for c in variable.get_children() if c.kind.is_expression()), None)
            return self._dimensions(initializer) if initializer is not None else None
        wraps = operand.kind in (kinds.UNEXPOSED_EXPR, kinds.PAREN_EXPR) or operand.kind.name.endswith("CAST_EXPR")
        return self._dimensions(inside[0]) if wraps and len(inside) == 1 else None

    def _constants(self, values: list[Cursor]) -> tuple[int, int, int] | None:
        # Default arguments are recognised by their lack of a location in the text. Their lack of operands would not distinguish
        # them from type traits.
        explicit = [value for value in values if value.extent.start.file is not None]
        sizes = [libclang.integer_value(self._unit.bindings, value) for value in explicit]
        known = [size for size in sizes if size is not None]
        if not known or len(known) < len(sizes):
            return None
        x, y, z = (*known, 1, 1)[:3]
        return x, y, z

    def _address_names(self, argument: Cursor) -> frozenset[str]:
        """Names in the argument that may hold addresses. Members are named in full, since two members of one object may hold
        different addresses.
        """
        names: set[str] = set()
        kinds, left = self._kinds, [argument]
        while left:
            cursor = left.pop()
            holds = cursor.kind in (kinds.MEMBER_REF_EXPR, kinds.DECL_REF_EXPR)
            holds = holds and cursor.type.get_canonical().kind.name in _POINTERS
            if holds and cursor.kind == kinds.MEMBER_REF_EXPR:
                names.add(self._unit.text_of(cursor))
                continue
            if holds:
                names.add(cursor.spelling)
            left += cursor.get_children()
        return frozenset(names)


def is_dim3(cursor: Cursor) -> bool:
    """Whether the type is dim3 or a reference to it; the object that a reference is bound to is examined next."""
    words = str(cursor.type.get_canonical().spelling).removeprefix("const ")
    return words.removesuffix("&").rstrip() == "dim3"


def is_construction(call: Cursor) -> bool:
    """Whether the call is to a constructor of dim3, not to a function with that name."""
    return call.spelling == "dim3" and (call.referenced is None or call.referenced.kind.name == "CONSTRUCTOR")


def is_unchanged(variable: Cursor) -> bool:
    """Whether a dim3 is const, or local and only ever copied as a whole: a reference to it could be used to change it."""
    if variable.type.is_const_qualified():
        return True
    scope = variable.semantic_parent
    if scope is None or scope.kind.name not in ("FUNCTION_DECL", "CXX_METHOD"):
        return False
    return all(
        _is_copied(above)
        for cursor, above in walk_below(scope)
        if cursor.kind.name == "DECL_REF_EXPR" and cursor.referenced == variable
    )


def _is_copied(above: list[Cursor]) -> bool:
    """Whether a name is only copied.

    above: the ancestors of the name. Copying converts to a const reference, but so do calls that can cast the const away.
    """
    holders = [ancestor for ancestor in above if ancestor.kind.name != "PAREN_EXPR"]
    return len(holders) > 1 and holders[-1].kind.name == "UNEXPOSED_EXPR" and holders[-2].spelling == "dim3"
