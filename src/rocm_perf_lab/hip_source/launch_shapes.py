"""The shapes of a kernel's launches, as arithmetic over the launches' own arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import libclang
from rocm_perf_lab.hip_source.cursors import byte_range_of, walk, walk_below
from rocm_perf_lab.hip_source.integer_expression import (
    ARITHMETIC,
    UNSIGNED,
    UNSIGNED_LONG,
    Constant,
    Expression,
    IntegerType,
    LaunchArgument,
    Operation,
    converted,
    integer_type,
)
from rocm_perf_lab.hip_source.launch_sites import LaunchSite, is_construction, is_dim3, is_unchanged, launches_of
from rocm_perf_lab.hip_source.launch_syntax import MACRO, WrittenShape, operands_of, split_launches
from rocm_perf_lab.hip_source.source_parts import SourceKernel
from rocm_perf_lab.hip_source.tokens import texts, tokens_of

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

_WRAPS = ("UNEXPOSED_EXPR", "PAREN_EXPR", "CSTYLE_CAST_EXPR", "CXX_STATIC_CAST_EXPR", "CXX_FUNCTIONAL_CAST_EXPR")
_LOOPS = ("FOR_STMT", "WHILE_STMT", "DO_STMT", "CXX_FOR_RANGE_STMT")
_FUNCTIONS = ("FUNCTION_DECL", "CXX_METHOD")
_ACTS = ("CALL_EXPR", "COMPOUND_ASSIGNMENT_OPERATOR", "LAMBDA_EXPR", "CXX_NEW_EXPR", "CXX_DELETE_EXPR", "StmtExpr")
_MARK = 3  # length of `<<<` and of `>>>`, in bytes

Dimensions = tuple[Expression, Expression, Expression]


class LaunchNotUnderstoodError(Exception):
    """Why the shapes of a kernel's launches are not known. shaped_launches() prefixes it with the launch's line."""


@dataclass(frozen=True)
class Shape:
    """groups, group_size: in x, y and z, as 32-bit unsigned integers. dynamic_lds: bytes, as a size_t."""

    groups: Dimensions
    group_size: Dimensions
    dynamic_lds: Expression

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (*self.groups, *self.group_size, self.dynamic_lds)


@dataclass(frozen=True)
class ShapedLaunch:
    """A launch whose shape is known: `kernel<<<...>>>(...)` or hipLaunchKernelGGL(kernel, ...).

    file: the real path of the file with the launch. start, end: byte range of the shape's text. by_macro: whether it is written
    with hipLaunchKernelGGL. stream: tokens of the fourth operand; empty if there is none, or if the range ends before it
    (hipLaunchKernelGGL). arguments: keyed by the names of the variables that are passed to the kernel by value. changing: the
    names of those variables that another part of the launch may change during the launch. constants: see constants_of().
    """

    file: Path
    line: int
    start: int
    end: int
    by_macro: bool
    stream: tuple[str, ...]
    shape: Shape
    arguments: Mapping[str, LaunchArgument] = field(compare=False)
    changing: frozenset[str] = field(compare=False)
    constants: Mapping[str, Constant] = field(compare=False)

    def replacement_text(self, groups: str, group_size: str, dynamic_lds: str = "0") -> str:
        """The text of a different shape, to replace the same range."""
        if self.by_macro:
            return f" {groups}, {group_size}, {dynamic_lds}"
        lds = [dynamic_lds] if dynamic_lds != "0" or self.stream else []
        return ", ".join([groups, group_size, *lds, *([" ".join(self.stream)] if self.stream else [])])


def shaped_launches(unit: TranslationUnit, kernel: SourceKernel, own: Path) -> Iterator[ShapedLaunch]:
    """All launches of the kernel in a host unit, whichever file contains them. own: the file whose name is omitted when its
    lines are reported. Raises SourceError, and LaunchNotUnderstoodError for the first launch that is not understood.
    """
    constants = functools.cache(lambda file: constants_of(unit, file))
    for site in launches_of(unit, kernel).sites:
        where = f"the launch in line {site.line}{_of_file(site, own)}"
        try:
            yield _Launch(unit, kernel, site).read(constants)
        except LaunchNotUnderstoodError as error:
            raise LaunchNotUnderstoodError(f"{where} {error}") from error
        except RecursionError as error:
            raise LaunchNotUnderstoodError(f"{where} has a shape that is nested too deeply") from error


def _of_file(site: LaunchSite, own: Path) -> str:
    file = site.call.location.file
    return f" of {Path(file.name).name}" if file is not None and Path(file.name).resolve() != own.resolve() else ""


def constants_of(unit: TranslationUnit, file: str) -> dict[str, Constant]:
    """The integer constants (including macros) that a file defines, keyed by name. Names with several values are left out.
    file: Clang's name for the file.
    """
    by_name = dict[str, set[Constant]]()
    for cursor in unit.user_declarations:
        if cursor.location.file.name != file:
            continue
        for name, constant in _defined(unit, cursor):
            by_name.setdefault(name, set()).add(constant)
    return {name: next(iter(values)) for name, values in by_name.items() if len(values) == 1}


def _defined(unit: TranslationUnit, cursor: Cursor) -> Iterator[tuple[str, Constant]]:
    if cursor.kind.name == "MACRO_DEFINITION":
        words = [token.spelling for token in cursor.get_tokens()][1:]
        if len(words) == 1 and words[0].isdigit() and (words[0] == "0" or words[0][0] != "0"):
            constant = Constant(int(words[0]), integer_type("int") or UNSIGNED)
            if constant.type.holds(constant.value):
                yield cursor.spelling, constant
        return
    for inside in walk(cursor):
        type_ = integer_type(inside.type.get_canonical().spelling) if inside.kind.name == "VAR_DECL" else None
        if type_ is None or not inside.type.get_canonical().is_const_qualified():
            continue
        initializers = [child for child in inside.get_children() if child.kind.is_expression()]
        value = libclang.integer_value(unit.bindings, initializers[-1]) if initializers else None
        if value is not None and value >= 0 and type_.holds(value):
            yield inside.spelling, Constant(value, type_)


class _Launch:
    def __init__(self, unit: TranslationUnit, kernel: SourceKernel, site: LaunchSite):
        self._unit, self._kernel, self._site = unit, kernel, site
        self._configuration = list(site.call.get_children())[1]
        if site.callee != kernel.identity:
            raise LaunchNotUnderstoodError(f"is, or may be, of another function named {kernel.last_name}")
        file = site.call.location.file
        if file is None:
            raise LaunchNotUnderstoodError("is not in any file")
        self._file: str = file.name
        self._by_macro = _in_macro(unit, site.call, self._file)
        self._written = self._by_macro or self._between_chevrons()
        self._passed = list(self._by_value())

    def read(self, constants: Callable[[str], Mapping[str, Constant]]) -> ShapedLaunch:
        """Read the launch's shape. constants: returns the constants of a file, given Clang's name for it."""
        grid, block, lds, *_ = list(self._configuration.get_children())[1:]
        shape = Shape(self._extent(grid, None), self._extent(block, None), converted(self._number(lds, None), UNSIGNED_LONG))
        names = {argument.name: argument for _, argument in reversed(self._passed)}
        acts = self._acts()
        changing = {argument.name for decl, argument in self._passed if acts and not decl.type.is_const_qualified()}
        return ShapedLaunch(
            Path(self._file).resolve(),
            self._site.line,
            self._written.start,
            self._written.end,
            self._by_macro is not None,
            self._stream(),
            shape,
            names,
            frozenset(changing),
            constants(self._file),
        )

    def _between_chevrons(self) -> WrittenShape:
        start, end = byte_range_of(self._configuration)
        text = self._unit.content(Path(self._file))
        is_written = text[start : start + _MARK] == b"<<<" and text[end - _MARK : end] == b">>>"
        if not is_written or self._unit.is_cut_by_macro(self._site.call):
            raise LaunchNotUnderstoodError(f"is made by a macro: write it with <<< >>> or {MACRO}")
        inside = (start + _MARK, end - _MARK)
        return WrittenShape(*inside, tuple(tokens_of(self._unit, *inside, of=self._file)))

    def _stream(self) -> tuple[str, ...]:
        words = texts(self._written.tokens)
        operands = operands_of(words)
        return tuple(words[i] for i in operands[3]) if len(operands) > 3 else ()

    def _by_value(self) -> Iterator[tuple[Cursor, LaunchArgument]]:
        """The variables that are passed unchanged, with the parameters that receive them."""
        pairs = zip(self._site.arguments, self._kernel.parameters, strict=False)  # trailing arguments may be defaults
        for position, (cursor, parameter) in enumerate(pairs):
            variable = _without_conversions(cursor)
            decl = variable.referenced if variable.kind.name == "DECL_REF_EXPR" else None
            if decl is None or decl.kind.name not in ("VAR_DECL", "PARM_DECL"):
                continue
            canonical, stored = decl.type.get_canonical(), integer_type(parameter.canonical)
            type_ = integer_type(canonical.spelling)
            local = decl.semantic_parent is not None and decl.semantic_parent.kind.name in _FUNCTIONS
            if type_ is None or stored is None or not (local or canonical.is_const_qualified()):
                continue
            if self._is_written(position, variable) and (stored.holds_all_of(type_) or stored.bits == type_.bits):
                yield decl, LaunchArgument(position, type_, stored, decl.spelling)

    def _is_written(self, position: int, variable: Cursor) -> bool:
        """Whether the variable's name is written in the launch as the whole argument."""
        if self._by_macro is not None:
            words = self._by_macro.arguments
            return position < len(words) and texts(words[position]) == [variable.spelling]
        return not self._unit.is_cut_by_macro(variable) and self._unit.text_of(variable) == variable.spelling

    def _acts(self) -> bool:
        """Whether the launch may change a variable: through a call or an assignment in its operands."""
        bindings = self._unit.bindings
        operands = (*self._site.arguments, *list(self._configuration.get_children())[4:])
        return any(
            cursor.kind.name in _ACTS or libclang.operator(bindings, cursor) in ("=", "++", "--")
            for operand in operands
            for cursor in walk(operand)
        )

    def _extent(self, operand: Cursor, offset: int | None) -> Dimensions:
        """The three numbers of a dim3. offset: the offset at which the operand was evaluated; None in the launch itself."""
        inside = [child for child in operand.get_children() if child.kind.is_expression()]
        if operand.kind.name == "CALL_EXPR" and is_construction(operand):
            if len(inside) == 1 and is_dim3(inside[0]):
                return self._extent(inside[0], offset)  # a copy
            numbers = [self._number(child, offset) for child in inside if child.extent.start.file is not None]
            x, y, z = (*(converted(number, UNSIGNED) for number in numbers), *[Constant(1, UNSIGNED)] * 3)[:3]
            return x, y, z
        if operand.kind.name == "DECL_REF_EXPR" and operand.referenced is not None:
            variable = operand.referenced
            initializers = [child for child in variable.get_children() if child.kind.is_expression()]
            if variable.kind.name == "VAR_DECL" and is_dim3(variable) and is_unchanged(variable) and initializers:
                return self._extent(initializers[-1], variable.extent.start.offset)
        elif operand.kind.name in _WRAPS and len(inside) == 1:
            return self._extent(inside[0], offset)
        raise self._obscure(operand)

    def _number(self, cursor: Cursor, offset: int | None) -> Expression:
        inside = [child for child in cursor.get_children() if child.kind.is_expression()]
        type_ = integer_type(cursor.type.get_canonical().spelling)
        if type_ is None:
            raise self._obscure(cursor)
        if cursor.kind.name == "DECL_REF_EXPR":
            return converted(self._variable(cursor, type_, offset), type_)
        if cursor.kind.name in _WRAPS and len(inside) == 1:
            return converted(self._number(inside[0], offset), type_)
        operator = libclang.operator(self._unit.bindings, cursor)
        if operator in ARITHMETIC and len(inside) == 2:
            return Operation(operator, self._number(inside[0], offset), self._number(inside[1], offset), type_)
        return self._constant(cursor, type_)

    def _constant(self, cursor: Cursor, type_: IntegerType) -> Constant:
        value = libclang.integer_value(self._unit.bindings, cursor)
        if value is None:
            raise self._obscure(cursor)
        return Constant(value, type_)

    def _variable(self, cursor: Cursor, type_: IntegerType, offset: int | None) -> Expression:
        decl = cursor.referenced
        argument = next((argument for passed, argument in self._passed if passed == decl), None)
        if argument is not None:
            if offset is None or decl.type.is_const_qualified() or _is_settled(decl, offset):
                return argument
            raise LaunchNotUnderstoodError(f"has a shape that was computed from {argument.name}, which may change later")
        if libclang.integer_value(self._unit.bindings, cursor) is not None:
            return self._constant(cursor, type_)
        initializers = [child for child in decl.get_children() if child.kind.is_expression()] if decl is not None else []
        declared = decl.extent.start.offset if initializers else 0
        if initializers and decl.kind.name == "VAR_DECL" and (decl.type.is_const_qualified() or _is_settled(decl, declared)):
            return self._number(initializers[-1], declared)
        raise self._obscure(cursor)

    def _obscure(self, cursor: Cursor) -> LaunchNotUnderstoodError:
        text = self._unit.text_of(cursor) or self._unit.text_of(self._configuration)
        return LaunchNotUnderstoodError(
            f"has a shape that is not arithmetic over its own arguments and constants: `{text[:60]}`"
        )


def _in_macro(unit: TranslationUnit, call: Cursor, file: str) -> WrittenShape | None:
    """The shape of a launch written with HIP's own hipLaunchKernelGGL; None for any other launch. file: Clang's name for the
    launch's file.
    """
    start, end = byte_range_of(call)
    if not unit.content(Path(file)).startswith(MACRO.encode(), start):
        return None
    defined = (declaration.spelling for declaration in unit.user_declarations if declaration.kind.name == "MACRO_DEFINITION")
    if any(name.startswith(MACRO) for name in defined):
        raise LaunchNotUnderstoodError(f"is made by {MACRO} as the source defines it: write it with <<< >>>")
    _, shapes = split_launches(tokens_of(unit, start, end, file))
    return shapes[0] if shapes else None


def _without_conversions(cursor: Cursor) -> Cursor:
    """The expression without implicit conversions."""
    while cursor.kind.name == "UNEXPOSED_EXPR":
        inside = list(cursor.get_children())
        if len(inside) != 1:
            break
        cursor = inside[0]
    return cursor


def _is_settled(variable: Cursor, offset: int) -> bool:
    """Whether a local variable keeps its value from this byte of the function on, that is, whether only earlier assignments
    change it, none of which can be executed again later.
    """
    scope = variable.semantic_parent
    if scope is None or scope.kind.name not in _FUNCTIONS or variable.type.get_canonical().is_volatile_qualified():
        return False
    for cursor, above in walk_below(scope):
        if cursor.kind.name in ("GOTO_STMT", "INDIRECT_GOTO_STMT"):
            return False
        if cursor.kind.name == "DECL_REF_EXPR" and cursor.referenced == variable and not _is_read(above):
            if not _is_assigned(cursor, above) or cursor.extent.start.offset >= offset:
                return False
            if any(_repeats(ancestor, offset) for ancestor in above):
                return False
    return True


def _is_read(above: list[Cursor]) -> bool:
    """Whether a name is read: only then does an implicit conversion enclose it. above: its ancestors."""
    return bool(above) and above[-1].kind.name == "UNEXPOSED_EXPR"


def _is_assigned(cursor: Cursor, above: list[Cursor]) -> bool:
    parent = above[-1]
    return parent.kind.name in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR") and next(parent.get_children()) == cursor


def _repeats(above: Cursor, offset: int) -> bool:
    start, end = byte_range_of(above)
    return above.kind.name == "LAMBDA_EXPR" or (above.kind.name in _LOOPS and start <= offset < end)
