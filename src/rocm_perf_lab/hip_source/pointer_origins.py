"""Finds the memory that a program's host code passes to a kernel: the allocations that a pointer may point into.

A pointer is traced back to where it was created: through copies, arithmetic and function return values, and from a parameter to
the argument in every call of the function. Only a few forms of expression and a few uses of variables are understood; with
anything else (members, elements, references, values passed to unknown code), the pointer counts as lost: it may point anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rocm_perf_lab.hip_source import libclang
from rocm_perf_lab.hip_source.cursors import byte_range_of, parameters_of, walk, walk_below
from rocm_perf_lab.hip_source.name_index import FUNCTIONS, NameUse, end_of, is_launch, is_of_no_scope, name_index

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import HipSource

ALLOCATORS = (
    "hipMalloc", "hipMallocAsync", "hipMallocHost", "hipMallocManaged", "hipMallocPitch", "hipHostMalloc", "hipHostAlloc",
    "hipExtMallocWithFlags",
)  # fmt: skip
"""Functions that store the address of new memory in the pointer whose address is their first argument."""
_FREE_FUNCTIONS = FUNCTIONS[:2]
_AROUND = ("DECL_STMT", "NAMESPACE", "LINKAGE_SPEC", "UNEXPOSED_DECL", "TRANSLATION_UNIT")
_IMPLICIT = ("begin", "end")  # a range-based `for` calls these implicitly
_CAST_TO_POINTER = re.compile(r"(\w+_cast\s*<[^<>&()]*\*\s*>\s*\(|\([^<>&()]*\*\s*\)).*", re.DOTALL)
_MAX_DEPTH, _MAX_CONTEXTS = 12, 256
_UNKNOWN_TYPES = ("INVALID", "UNEXPOSED", "DEPENDENT", "AUTO")  # undetermined in a template: they may be references
_REFERENCES = ("LVALUEREFERENCE", "RVALUEREFERENCE")
_STATEMENTS = (
    "COMPOUND_STMT", "FOR_STMT", "IF_STMT", "WHILE_STMT", "DO_STMT", "SWITCH_STMT", "CASE_STMT", "DEFAULT_STMT", "LABEL_STMT",
)  # fmt: skip
"""Statements that discard, or only read, the value of an expression directly below them."""


class UnknownOriginError(Exception):
    """Why the origin of a pointer is not known."""


class _DependsOnCallersError(UnknownOriginError):
    """The origin depends on the callers of the function under analysis."""


@dataclass(frozen=True)
class AllocationSite:
    """Where memory is allocated. name: used in messages. path: the calls that lead there, if a function allocates new memory
    each time it is called.
    """

    position: tuple[str, int]
    name: str = field(compare=False)
    path: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class _Context:
    """A call: the origins of its pointer parameters (by USR), the calls that lead to allocations, and wording for messages."""

    parameters: Mapping[str, frozenset[AllocationSite] | UnknownOriginError] = field(default_factory=dict)
    path: tuple[tuple[str, int], ...] = ()
    words: str = ""


def _is_pointer(cursor: Cursor) -> bool:
    return bool(cursor.type.get_canonical().kind.name == "POINTER")


class PointerOrigins:
    """The origins of the pointers in a program's host code."""

    def __init__(self, source: HipSource):
        self._units = [unit.host for unit in (source, *source.other_units)]
        self._indices = [name_index(unit) for unit in self._units]
        self._bindings = source.host.bindings
        self._foreign = list(source.foreign)
        self._contexts_left = _MAX_CONTEXTS

    def of_launch(
        self, arguments: Sequence[Cursor], launch: Cursor
    ) -> Iterator[tuple[str, list[frozenset[AllocationSite] | UnknownOriginError]]]:
        """For each chain of calls to the launching function: text for messages and, for each argument, its origins or the
        reason why they are unknown.
        """
        self._contexts_left = _MAX_CONTEXTS
        alone = [self._origins_or_unknown(argument, _Context()) for argument in arguments]
        if not any(isinstance(origins, _DependsOnCallersError) for origins in alone):
            yield "", alone
            return
        use = next((index.launches[end_of(launch)] for index in self._indices if end_of(launch) in index.launches), None)
        try:
            contexts = list(self._contexts(use.function if use else None, 0))
        except UnknownOriginError as error:
            yield "", [error if isinstance(origins, _DependsOnCallersError) else origins for origins in alone]
            return
        for context in contexts:
            yield context.words, [self._origins_or_unknown(argument, context) for argument in arguments]

    def _origins_or_unknown(self, expression: Cursor, context: _Context) -> frozenset[AllocationSite] | UnknownOriginError:
        try:
            return frozenset(self._points(expression, context, frozenset(), 0))
        except UnknownOriginError as error:
            return error

    # --- expressions

    def _points(self, expression: Cursor, context: _Context, seen: frozenset[str], depth: int) -> set[AllocationSite]:
        """The origins of a pointer expression.

        seen: variables that are already being traced, which need not be traced again.
        """
        if depth > _MAX_DEPTH * 8:
            raise UnknownOriginError("is computed in too many steps")
        expression = _inner(expression)
        kind = expression.kind.name
        parts = self._value_sources(expression, kind)
        if parts is not None:
            return {site for part in parts for site in self._points(part, context, seen, depth + 1)}
        if kind == "DECL_REF_EXPR":
            return self._of_variable(expression, context, seen, depth)
        if libclang.operator(self._bindings, expression) == "&" and kind == "UNARY_OPERATOR":
            return self._origins_of_address(next(expression.get_children()), context, seen, depth)
        if kind == "CALL_EXPR":
            return self._returned(expression, context, seen, depth)
        if kind == "CXX_NEW_EXPR" and self._is_fresh(expression):
            return {AllocationSite(end_of(expression), "memory", context.path)}
        raise UnknownOriginError(f"is computed from something that cannot be followed (line {expression.location.line})")

    def _value_sources(self, expression: Cursor, kind: str) -> list[Cursor] | None:
        """The expressions from which this one takes its value; None if it does not take its value from others."""
        children = list(expression.get_children())
        operator = libclang.operator(self._bindings, expression)
        if kind in ("CXX_NULL_PTR_LITERAL_EXPR", "GNU_NULL_EXPR"):
            return []
        if kind == "INTEGER_LITERAL" and libclang.integer_value(self._bindings, expression) == 0:
            return []
        if kind == "INIT_LIST_EXPR" and len(children) < 2:
            return children
        if kind.endswith("CAST_EXPR"):
            return [child for child in children if child.kind.is_expression()][-1:]
        if kind == "CONDITIONAL_OPERATOR":
            return children[1:]
        if operator in ("=", ","):
            return children[1:]
        if operator in ("++", "--"):
            return children[:1]
        if kind == "COMPOUND_ASSIGNMENT_OPERATOR":
            return self._pointer_operand(expression, children)
        if operator in ("+", "-") and kind == "BINARY_OPERATOR":
            return self._pointer_operand(expression, children)
        return None

    def _pointer_operand(self, expression: Cursor, operands: list[Cursor]) -> list[Cursor]:
        """The pointer in `p + n`, where n contains no other pointer."""
        kinds = ("POINTER", "CONSTANTARRAY")
        pointers = [operand for operand in operands if _inner(operand).type.get_canonical().kind.name in kinds]
        numbers = [operand for operand in operands if operand not in pointers]
        if len(pointers) != 1 or any(
            inside.type.get_canonical().kind.name in kinds for number in numbers for inside in walk(number)
        ):
            raise UnknownOriginError(f"is computed from a distance between pointers (line {expression.location.line})")
        return pointers

    def _origins_of_address(self, lvalue: Cursor, context: _Context, seen: frozenset[str], depth: int) -> set[AllocationSite]:
        """The origins of `&lvalue`."""
        lvalue = _inner(lvalue)
        children = list(lvalue.get_children())
        if lvalue.kind.name == "ARRAY_SUBSCRIPT_EXPR" and children:  # `p[n]`, or `n[p]`
            return self._points(self._pointer_operand(lvalue, children)[0], context, seen, depth + 1)
        if libclang.operator(self._bindings, lvalue) == "*":
            return self._points(children[0], context, seen, depth + 1)
        if lvalue.kind.name == "DECL_REF_EXPR" and _is_object(lvalue.referenced):
            return {self._object(lvalue.referenced)}
        raise UnknownOriginError(f"is computed from something that cannot be followed (line {lvalue.location.line})")

    def _is_fresh(self, expression: Cursor) -> bool:
        """Whether the expression is a plain `new` that calls the standard library's operator new.

        With arguments before the type, as in placement new, `new` may return existing memory; so may an operator new that the
        program or a class defines.
        """
        words = [*islice(expression.get_tokens(), 3)]
        if words and words[0].spelling == "::":
            del words[0]
        element = expression.type.get_canonical().get_pointee().get_canonical()
        if len(words) < 2 or words[0].spelling != "new" or words[1].spelling == "(":
            return False
        if element.kind.name in ("RECORD", *_UNKNOWN_TYPES):
            return False
        first = words[1].extent.start.offset  # a macro may hide the parentheses
        operands = [child.extent.start for child in expression.get_children() if child.kind.is_expression()]
        return all(start.file is None or start.offset > first for start in operands) and not self._allocates()

    def _allocates(self) -> bool:
        """Whether the program may define its own operator new."""
        if any(name.startswith("operator new") for index in self._indices for name in index.own):
            return True
        try:
            return any(re.search(rb"\boperator\s+new\b", file.read_bytes()) for file in self._foreign)
        except OSError:
            return True

    # --- variables

    def _of_variable(self, name: Cursor, context: _Context, seen: frozenset[str], depth: int) -> set[AllocationSite]:
        variable = name.referenced
        if variable is None or variable.kind.name not in ("VAR_DECL", "PARM_DECL"):
            raise UnknownOriginError(f"comes from {name.spelling}, which cannot be followed")
        is_array = variable.type.get_canonical().kind.name == "CONSTANTARRAY"
        if is_array and variable.kind.name == "VAR_DECL":
            return {self._object(variable)}
        if not is_array and not _is_pointer(variable):  # libclang reports an array parameter as an array, not a pointer
            raise UnknownOriginError(f"comes from {name.spelling}, which is not a pointer")
        usr = variable.get_usr()
        if usr in seen:
            return set()
        sites: set[AllocationSite] = set()
        if variable.kind.name == "PARM_DECL":
            sites |= self._of_parameter(variable, context)
        elif not _is_automatic(variable):
            context = _Context()
        for value in self._stored_values(variable):
            if isinstance(value, AllocationSite):
                sites.add(AllocationSite(value.position, value.name, context.path))
            else:
                sites |= self._points(value, context, seen | {usr}, depth + 1)
        return sites

    def _object(self, variable: Cursor) -> AllocationSite:
        """The memory of a variable: one site, however often the variable is declared. Raises UnknownOriginError."""
        lost = UnknownOriginError(f"comes from {variable.spelling}, whose declaration cannot be followed")
        if _is_automatic(variable):
            if "va_list" in variable.type.get_canonical().spelling:  # the arguments it lists are what matters
                raise lost
            return AllocationSite(end_of(variable), variable.spelling)
        declared = [use for index in self._indices for use in index.variables.get(variable.get_usr(), ())]
        if not declared:
            raise lost
        self._check_declared(variable, declared)
        return AllocationSite((variable.get_usr(), 0), variable.spelling)

    def _of_parameter(self, parameter: Cursor, context: _Context) -> frozenset[AllocationSite]:
        function = parameter.semantic_parent
        held = context.parameters.get(parameter.get_usr())
        if held is None:
            words = f" of {function.spelling}" if function is not None and function.spelling else ""
            raise _DependsOnCallersError(f"comes from the parameter {parameter.spelling}{words}, which cannot be followed")
        if isinstance(held, UnknownOriginError):
            raise held
        return held

    def _stored_values(self, variable: Cursor) -> list[Cursor | AllocationSite]:
        """All values stored in a variable: expressions and allocations. Raises UnknownOriginError if there may be others."""
        usr = variable.get_usr()
        values: list[Cursor | AllocationSite] = []
        declared = [use for index in self._indices for use in index.variables.get(usr, ())]
        if not declared:
            raise UnknownOriginError(f"comes from {variable.spelling}, whose declaration cannot be followed")
        if variable.kind.name == "VAR_DECL":
            self._check_declared(variable, declared)
            values += [child for use in declared for child in use.cursor.get_children() if child.kind.is_expression()]
        for use in (use for index in self._indices for use in index.uses.get(usr, ())):
            value = self._stored_value(use)
            values += [] if value is None else [value]
        return values

    def _check_declared(self, variable: Cursor, declared: list[NameUse]) -> None:
        lost = UnknownOriginError(f"comes from {variable.spelling}, whose declaration cannot be followed")
        if any(use.above and use.above[-1].kind.name not in _AROUND for use in declared):
            raise lost
        if any(use.function is not None and use.cursor.storage_class.name == "EXTERN" for use in declared):
            raise lost  # a separate name for a variable that is defined elsewhere
        if not _is_automatic(variable) and self._has_other_name(variable.spelling):
            raise lost
        if variable.linkage.name == "EXTERNAL":
            if all(use.cursor.storage_class.name == "EXTERN" for use in declared):
                raise lost
            self._check_foreign(variable.spelling)

    def _has_other_name(self, name: str) -> bool:
        """Whether an alias or a label gives the symbol of a variable a second name."""
        symbol = re.compile(rb"\b(asm|__asm|__asm__|alias|__alias__)\b[^;]*\"[^\"]*\b\d*%s\b" % re.escape(name.encode()))
        return any(symbol.search(text) for text in self._texts())

    def _check_foreign(self, name: str) -> None:
        word = re.compile(rb"\b%s\b|\d%s" % (re.escape(name.encode()), re.escape(name.encode())))
        for file in self._foreign:
            try:
                is_named = word.search(file.read_bytes()) is not None
            except OSError:
                is_named = True
            if is_named:
                raise UnknownOriginError(f"comes by way of {name}, which {file.name} names, a file that is not compiled as HIP")

    def _stored_value(self, use: NameUse) -> Cursor | AllocationSite | None:
        """The value that this use of a variable stores in it; None if the use only reads it. Raises UnknownOriginError."""
        inner, above = _outwards(use.cursor, list(use.above))
        lost = UnknownOriginError(f"comes from {use.cursor.spelling}, which line {use.line} may change")
        if not above:
            raise lost
        parent = above[-1]
        operator = libclang.operator(self._bindings, parent)
        if operator == "&" and parent.kind.name == "UNARY_OPERATOR":
            return self._allocation(use, above) or _raise(lost)
        if operator == "=" and next(parent.get_children()) == inner:
            return list(parent.get_children())[1] if self._is_result_read(use, above) else _raise(lost)
        return None if self._is_read(use, inner, above) else _raise(lost)

    def _is_result_read(self, use: NameUse, above: list[Cursor]) -> bool:
        """Whether the value of an assignment to the variable is only read. (In C++, that value is the variable itself.)"""
        inner, above = _outwards(above[-1], above[:-1])
        return bool(above) and self._is_read(use, inner, above)

    def _is_read(self, use: NameUse, inner: Cursor, above: list[Cursor]) -> bool:
        """Whether a use of the variable only reads its value. inner: the variable, or the expression that yields it."""
        parent, kind = above[-1], above[-1].kind.name
        operator = libclang.operator(self._bindings, parent)
        children = list(parent.get_children())
        if kind == "UNEXPOSED_EXPR":
            return self._is_converted(use, inner, above)
        if kind == "COMPOUND_ASSIGNMENT_OPERATOR" and children[0] == inner:
            self._pointer_operand(parent, [inner, *(child for child in children[1:] if _has_known_type(child))])
            return _has_known_type(children[1]) and self._is_result_read(use, above)
        if kind == "UNARY_OPERATOR" and operator in ("++", "--"):
            return self._is_result_read(use, above)
        if operator == "=" and children[0] == inner:
            return False
        if operator == ",":
            return children[0] == inner or self._is_result_read(use, above)
        if kind in _STATEMENTS:
            return True
        if kind in ("COMPOUND_ASSIGNMENT_OPERATOR", "ARRAY_SUBSCRIPT_EXPR", "BINARY_OPERATOR"):
            # In a template, the operators of dependent types are not known: they may take references.
            operators = ("+", "-", "==", "!=", "<", ">", "&&", "||", "+=", "-=", "=", "")
            return operator in operators and all(_has_known_type(child) for child in children if child != inner)
        if kind == "UNARY_OPERATOR":
            return operator in ("*", "!", "+", "-")
        if kind == "CXX_UNARY_EXPR":
            return True
        if kind == "INIT_LIST_EXPR":  # only an array's elements are certain not to be references
            return bool(parent.type.get_canonical().kind.name == "CONSTANTARRAY")
        if kind == "VAR_DECL":  # in a template, where types and conversions are not known
            return _is_pointer(parent) or parent.type.spelling == "auto"
        if kind == "RETURN_STMT":
            scope = use.scope
            return (
                scope is not None and scope.kind.name in _FREE_FUNCTIONS and scope.result_type.spelling.rstrip().endswith("*")
            )
        if kind.endswith("CAST_EXPR"):
            return bool(_CAST_TO_POINTER.match(_text(parent))) or parent.type.spelling == "void"
        return kind == "CALL_EXPR" and (is_launch(parent) or self._is_runtime(parent))

    def _is_converted(self, use: NameUse, inner: Cursor, above: list[Cursor]) -> bool:
        """Whether an expression that Clang's bindings do not name converts the variable to its value.

        Other such expressions yield the variable itself: `x ?: y`, `_Generic`, the parentheses of `T& r(x)` in a template, or
        the outermost expression of an initializer, where temporaries are destroyed. Only a conversion has the same name as its
        operand. A conversion that adds const yields a reference.
        """
        parent = above[-1]
        if _inner(parent) == parent or (parent.type.is_const_qualified() and not inner.type.is_const_qualified()):
            return False
        if inner.kind.name == "DECL_REF_EXPR" and parent.spelling == inner.spelling:
            return True
        _, ancestors = _outwards(parent, above[:-1])
        while ancestors and ancestors[-1].kind.name == "UNEXPOSED_EXPR":
            _, ancestors = _outwards(ancestors[-1], ancestors[:-1])
        kind = ancestors[-1].kind.name if ancestors else ""
        if kind in ("VAR_DECL", "RETURN_STMT"):
            scope = use.scope
            type_ = ancestors[-1].type if kind == "VAR_DECL" else scope.result_type if scope is not None else None
            return type_ is not None and type_.get_canonical().kind.name not in (*_REFERENCES, *_UNKNOWN_TYPES)
        return kind not in ("", "CONSTRUCTOR", "LAMBDA_EXPR", "FIELD_DECL", "CXX_NEW_EXPR")

    def _allocation(self, use: NameUse, above: list[Cursor]) -> AllocationSite | None:
        """The allocation in `hipMalloc(&variable, ...)`, possibly with a cast; None for any other use."""
        inner = above.pop()
        while above and (above[-1].kind.name.endswith("CAST_EXPR") or above[-1].kind.name in ("UNEXPOSED_EXPR", "PAREN_EXPR")):
            inner = above.pop()
        if not above or above[-1].kind.name != "CALL_EXPR":
            return None
        call = above[-1]
        name, children = _callee(call), list(call.get_children())
        if name in ALLOCATORS and self._is_runtime(call) and len(children) > 1 and children[1] == inner:
            return AllocationSite(end_of(call), use.cursor.spelling)
        return None

    def _is_runtime(self, call: Cursor) -> bool:
        """Whether the call is to a HIP function; no HIP function takes a pointer by reference.

        The name alone is not enough: the program may have a function, a member or a variable with that name.
        """
        first = next(call.get_children(), None)
        callee = _inner(first) if first is not None else None
        if callee is not None and not callee.spelling:  # in a template, this encloses the unresolved names
            callee = next(callee.get_children(), None)
        if callee is None or not callee.spelling.startswith("hip"):
            return False
        named = libclang.overloads(callee) if callee.kind.name == "OVERLOADED_DECL_REF" else [callee.referenced]
        if any(callee.spelling in index.own for index in self._indices):
            return False
        return bool(named) and all(self._is_of_library(declaration) for declaration in named)

    def _is_of_library(self, function: Cursor | None) -> bool:
        if function is None or function.kind.name not in _FREE_FUNCTIONS or not is_of_no_scope(function):
            return False
        if function.location.is_in_system_header:
            return True
        try:
            self._check_foreign(function.spelling)  # without HIP's header, another file may define it
        except UnknownOriginError:
            return False
        return True

    # --- functions

    def _returned(self, call: Cursor, context: _Context, seen: frozenset[str], depth: int) -> set[AllocationSite]:
        name = _callee(call)
        function = self._definition(call)
        if function is None or function.kind.name not in _FREE_FUNCTIONS:
            raise UnknownOriginError(
                f"is what {name or 'a call'} returns, which cannot be followed (line {call.location.line})"
            )
        if len(context.path) > _MAX_DEPTH:
            raise UnknownOriginError(f"is what {name} returns, through too many calls")
        inside = self._context_in(call, function, context)
        results = [child for statement in _returns(function) for child in statement.get_children()]
        return {site for result in results for site in self._points(result, inside, frozenset(), depth + 1)}

    def _definition(self, call: Cursor) -> Cursor | None:
        named = call.referenced
        if named is None or named.kind.name == "OVERLOADED_DECL_REF":
            first = next(call.get_children(), None)
            unresolved = (
                [cursor for cursor in walk(first) if cursor.kind.name == "OVERLOADED_DECL_REF"] if first is not None else []
            )
            candidates = libclang.overloads(unresolved[0]) if unresolved else []
            # A specialisation, or a function in the argument's namespace, may be called instead.
            if len(candidates) != 1 or sum(index.defined.get(candidates[0].spelling, 0) for index in self._indices) != 1:
                return None
            named = candidates[0]
        template = self._bindings.conf.lib.clang_getSpecializedCursorTemplate(named)
        usrs = [named.get_usr(), *([] if template.is_null() else [template.get_usr()])]
        return next((index.functions[usr] for usr in usrs for index in self._indices if usr in index.functions), None)

    def _context_in(self, call: Cursor, function: Cursor, outer: _Context) -> _Context:
        return _Context(self._handed(call, function, outer), (*outer.path, end_of(call)), outer.words)

    def _handed(
        self, call: Cursor, function: Cursor, outer: _Context
    ) -> dict[str, frozenset[AllocationSite] | UnknownOriginError]:
        """The origins of the pointer parameters in a call. Omitted arguments count as lost, since their defaults are not
        examined.
        """
        arguments = list(call.get_children())[1:]
        held: dict[str, frozenset[AllocationSite] | UnknownOriginError] = {}
        for number, parameter in enumerate(parameters_of(function)):
            if "..." in parameter.type.spelling:
                raise UnknownOriginError(f"comes from the parameters of {function.spelling}, whose number is variable")
            if "&" in parameter.type.get_canonical().spelling:
                held[parameter.get_usr()] = UnknownOriginError(
                    f"comes from the reference {parameter.spelling} of {function.spelling}"
                )
            elif number < len(arguments):
                held[parameter.get_usr()] = self._origins_or_unknown(arguments[number], outer)
            else:
                held[parameter.get_usr()] = UnknownOriginError(
                    f"comes from the parameter {parameter.spelling}, which a call leaves out"
                )
        return held

    def _contexts(self, function: Cursor | None, depth: int) -> Iterator[_Context]:
        """One context for each way in which a function is called. Callers of callers are followed only if the arguments depend
        on them. Raises UnknownOriginError if a call may be missed.
        """
        if function is None or depth > _MAX_DEPTH:
            raise UnknownOriginError("comes from a parameter that cannot be followed")
        for use, call in self._calls(function):
            for outer in self._outside(call, function, use, depth):
                self._contexts_left -= 1
                if self._contexts_left < 0:
                    raise UnknownOriginError(f"comes from parameters of {function.spelling}, which is called in too many ways")
                words = f", as line {use.line} calls {function.spelling}" + outer.words
                yield _Context(self._handed(call, function, outer), (), words)

    def _outside(self, call: Cursor, function: Cursor, use: NameUse, depth: int) -> Iterator[_Context]:
        if any(isinstance(held, _DependsOnCallersError) for held in self._handed(call, function, _Context()).values()):
            pointers = [parameter for parameter in parameters_of(function) if "*" in parameter.type.get_canonical().spelling]
            if pointers:
                yield from self._contexts(use.function, depth + 1)
                return
        yield _Context()

    def _calls(self, function: Cursor) -> Iterator[tuple[NameUse, Cursor]]:
        """Every call of the function in the program. Raises UnknownOriginError."""
        name = function.spelling
        lost = f"comes from a parameter of {name}"
        if function.kind.name not in _FREE_FUNCTIONS or not name.isidentifier() or name in _IMPLICIT or name == "main":
            raise UnknownOriginError(f"{lost}, whose calls cannot be followed")
        if self._is_named_in_text(name):
            raise UnknownOriginError(f"{lost}, which may be called by its symbol")
        uses = [use for index in self._indices for use in index.named.get(name, ())]
        if function.linkage.name == "EXTERNAL":
            self._check_foreign(name)
            if not uses:
                raise UnknownOriginError(f"{lost}, which the source does not call")
        for use in uses:
            call = _call_of(use)
            if call is None:
                raise UnknownOriginError(f"{lost}, which line {use.line} names without calling it")
            yield use, call

    def _is_named_in_text(self, name: str) -> bool:
        """Whether the symbol appears as text: in a label, in assembly, or in an attribute that defines an alias."""
        symbol = re.compile(rb"\d%s" % re.escape(name.encode()))
        if any(symbol.search(text.encode()) for index in self._indices for text in index.strings):
            return True
        return any(symbol.search(text) for text in self._texts())

    def _texts(self) -> Iterator[bytes]:
        files = {declaration.location.file.name: unit for unit in self._units for declaration in unit.user_declarations}
        return (unit.content(Path(file)) for file, unit in files.items())


def _raise(error: UnknownOriginError) -> NoReturn:
    raise error


def _text(cursor: Cursor) -> str:
    return " ".join(token.spelling for token in cursor.get_tokens())


def _callee(call: Cursor) -> str:
    """The name of the called function, even if a template does not determine which function of that name it is."""
    first = next(call.get_children(), None)
    if first is None:
        return str(call.spelling)
    named = (
        cursor for cursor in walk(first) if cursor.kind.name in ("DECL_REF_EXPR", "OVERLOADED_DECL_REF", "MEMBER_REF_EXPR")
    )
    return str(next((reference.spelling for reference in named if reference.spelling), call.spelling))


def _call_of(use: NameUse) -> Cursor | None:
    """The call whose callee this name is; None if there is none."""
    inner = use.cursor
    for parent in reversed(use.above):
        if parent.kind.name == "CALL_EXPR":
            return parent if next(parent.get_children(), None) == inner and not is_launch(parent) else None
        unresolved = parent.kind.name == "DECL_REF_EXPR" and not parent.spelling
        if not unresolved and parent.kind.name not in ("UNEXPOSED_EXPR", "PAREN_EXPR"):
            return None
        inner = parent
    return None


def _returns(function: Cursor) -> Iterator[Cursor]:
    """A function's return statements, except those in lambdas inside it."""
    for inside, above in walk_below(function):
        if inside.kind.name == "RETURN_STMT" and not any(ancestor.kind.name == "LAMBDA_EXPR" for ancestor in above):
            yield inside


def _is_automatic(variable: Cursor) -> bool:
    scope = variable.semantic_parent
    return scope is not None and scope.kind.name in FUNCTIONS and variable.storage_class.name not in ("STATIC", "EXTERN")


def _is_object(variable: Cursor | None) -> bool:
    """Whether the variable has its own memory rather than being a reference to another object."""
    if variable is None or variable.kind.name not in ("VAR_DECL", "PARM_DECL"):
        return False
    type_ = variable.type.get_canonical()
    return "&" not in type_.spelling and type_.kind.name not in _UNKNOWN_TYPES


def _has_known_type(operand: Cursor) -> bool:
    """Whether an operand has a type with built-in operators."""
    return operand.type.get_canonical().kind.name not in ("RECORD", *_UNKNOWN_TYPES)


def _outwards(inner: Cursor, above: list[Cursor]) -> tuple[Cursor, list[Cursor]]:
    """The outermost expression that yields the same variable, possibly in parentheses or a conditional; also its ancestors."""
    above = list(above)
    while above and above[-1].kind.name in ("PAREN_EXPR", "CONDITIONAL_OPERATOR"):
        inner = above.pop()
    return inner, above


def _inner(expression: Cursor) -> Cursor:
    """The expression inside parentheses and implicit conversions.

    Like implicit conversions, many other expressions (`x ?: y`, va_arg, atomic functions) have no name in Clang's bindings;
    unlike conversions, they have several operands, or text of their own around the operand.
    """
    while expression.kind.name in ("UNEXPOSED_EXPR", "PAREN_EXPR"):
        children = list(expression.get_children())
        if len(children) != 1 or not children[0].kind.is_expression():
            break
        if expression.kind.name == "UNEXPOSED_EXPR" and byte_range_of(expression) != byte_range_of(children[0]):
            break
        expression = children[0]
    return expression
