"""The part of step 1 that examines a candidate's text: it finds the kernel that changes and checks that nothing else differs.

It runs where hostile text can do no harm; see candidate_reader.py. Clang locates the definitions. Everything except the
target's body, promises in its head, new device functions and the shapes of launches must match the baseline token for token.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from rocm_perf_lab.gate.change import KernelChange, LaunchText
from rocm_perf_lab.gate.source.forbidden_text import text_complaint
from rocm_perf_lab.gate.source.head_promises import promises_of_head
from rocm_perf_lab.gate.source.implicit_promises import promise_not_in_baseline
from rocm_perf_lab.gate.source.other_files_diff import ChangeNotAllowedError, expect_no_new_directive, launches_in
from rocm_perf_lab.gate.source.promises import NO_PROMISES
from rocm_perf_lab.hip_source import HipSource, SourceKernel
from rocm_perf_lab.hip_source.cursors import body_of, byte_range_of, is_member, walk
from rocm_perf_lab.hip_source.kernels import function_of, identity_of
from rocm_perf_lab.hip_source.launch_syntax import split_launches
from rocm_perf_lab.hip_source.source import TranslationUnit
from rocm_perf_lab.hip_source.tokens import Token, first_difference, line_of, texts, tokens_of, with_comments

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import ClangType, Cursor

# C++ implicitly calls functions with these names in range-for loops and structured bindings.
_IMPLICITLY_CALLED = ("begin", "end", "get")


@dataclass(frozen=True)
class _Function:
    """A new function. start, end: its byte offsets."""

    cursor: Cursor
    start: int
    end: int

    @property
    def name(self) -> str:
        return str(self.cursor.spelling)


def read_change(
    baseline: HipSource,
    candidate: HipSource,
    wanted: str | None,
    other_files: Mapping[Path, tuple[bytes, bytes]] = MappingProxyType({}),
) -> KernelChange:
    """Extract the change from a candidate.

    wanted: identity of the kernel that may change; None for the first kernel that does change. other_files: for each, the
    baseline's and the candidate's text.

    Raises ChangeNotAllowedError; SourceError if the candidate does not compile.
    """
    expect_no_new_directive(baseline.text, candidate.text)
    unit = candidate.device
    before, after = _find_target(baseline, candidate, wanted)
    functions = list(_new_functions(baseline.device, unit, after))
    head, body = (after.span.start, after.body.start), (after.body.start, after.body.end)
    launches = _changed_launches(baseline, candidate, before, after, functions)
    for file, texts_of_it in other_files.items():
        launches += launches_in(baseline.command[0], file, *texts_of_it)
    promises = promises_of_head(baseline.device, unit, before, after)
    if isinstance(promises, str):
        raise ChangeNotAllowedError(promises)
    if not functions and not launches and promises == NO_PROMISES and not _differs(baseline, candidate, before, after):
        raise ChangeNotAllowedError("the candidate's source is the same as the baseline's: nothing was changed")
    own = baseline.text[before.span.start : before.span.end]
    for start, end in (head, body, *((function.start, function.end) for function in functions)):
        if complaint := text_complaint(unit, start, end, own):
            raise ChangeNotAllowedError(complaint)
    kernel = function_of(unit, after)
    known = _restricted_declarations(baseline.device, function_of(baseline.device, before), is_kernel=True)
    _expect_no_more_restrict(known, _restricted_declarations(unit, kernel, is_kernel=True))
    for function in functions:
        _expect_no_more_restrict({}, _restricted_declarations(unit, function.cursor, is_kernel=False))
    for cursor in (kernel, *(function.cursor for function in functions)):
        _expect_plain_declarations(unit, cursor)
        _expect_no_other_kernel(unit, cursor, after, own)
    old = baseline.device, function_of(baseline.device, before)
    if promise := promise_not_in_baseline(old, (unit, [kernel, *(function.cursor for function in functions)])):
        raise ChangeNotAllowedError("line {} has {}".format(*promise))
    _expect_own_names(baseline, functions)
    return KernelChange(
        before.identity,
        unit.text[slice(*head)],
        unit.text[slice(*body)],
        tuple(unit.text[function.start : function.end] for function in functions),
        tuple(function.name for function in functions),
        promises,
        tuple(launches),
    )


def _find_target(baseline: HipSource, candidate: HipSource, wanted: str | None) -> tuple[SourceKernel, SourceKernel]:
    by_identity = {kernel.identity: kernel for kernel in candidate.kernels}
    if wanted is not None:
        before = baseline.kernel(wanted)
    else:
        changed = (
            k
            for k in baseline.kernels
            if k.identity in by_identity and _differs(baseline, candidate, k, by_identity[k.identity])
        )
        before = next(changed, baseline.kernels[0])
    after = by_identity.get(before.identity)
    if after is None:
        raise ChangeNotAllowedError(
            f"{before.name} was not found with the same name, parameters and template head, on which the launches rely"
        )
    unit = candidate.device
    if (
        unit.cut_by_macro(unit.own, after.body.start, after.body.end)
        or unit.text[after.body.start : after.body.start + 1] != b"{"
    ):
        raise ChangeNotAllowedError(f"the body of {before.name} begins or ends within a macro")
    return before, after


def _differs(baseline: HipSource, candidate: HipSource, before: SourceKernel, after: SourceKernel) -> bool:
    """Whether the head or the body has different tokens; comments and white space do not count."""
    (a, b), (c, d) = ((kernel.span.start, kernel.span.end) for kernel in (before, after))
    if baseline.text[a:b] == candidate.text[c:d]:
        return False
    return first_difference(tokens_of(baseline.device, a, b), tokens_of(candidate.device, c, d)) is not None


def _new_functions(before: TranslationUnit, after: TranslationUnit, target: SourceKernel) -> Iterator[_Function]:
    """The candidate's functions that the baseline does not declare; all of them must be device functions. Raises
    ChangeNotAllowedError.
    """
    known = {identity_of(function) for function in before.functions()}
    for function in after.functions():
        if identity_of(function) in known or function.extent.start.file.name != after.own:
            continue
        if complaint := _new_function_complaint(after, function, target):
            raise ChangeNotAllowedError(complaint)
        yield _Function(function, *_range_with_comments(after, function, before.text))


def _new_function_complaint(unit: TranslationUnit, function: Cursor, target: SourceKernel) -> str | None:
    kinds = unit.bindings.CursorKind
    attributes = {child.kind for child in function.get_children()}
    name = function.spelling
    if kinds.CUDADEVICE_ATTR not in attributes or kinds.CUDAGLOBAL_ATTR in attributes or kinds.CUDAHOST_ATTR in attributes:
        return f"{name} was added: only functions that are marked __device__ alone may be added"
    if is_member(function):
        return f"{name} was added to a class: only functions at namespace scope may be added"
    if not unit.bindings.conf.lib.clang_getSpecializedCursorTemplate(function).is_null():
        return f"{name} was added, but it specialises a template that others use"
    if not name.isidentifier() or name in _IMPLICITLY_CALLED:
        return f"{name} was added, but the language itself calls functions with this name: choose another name"
    if target.in_class:
        return f"{name} was added, but {target.name} is a member of a class, where new functions cannot be kept separate"
    end = byte_range_of(function)[1]
    if unit.cut_by_macro(unit.own, end - 1, end):
        return f"{name} was added by a macro: write it out"
    return None


def _range_with_comments(unit: TranslationUnit, function: Cursor, baseline: bytes) -> tuple[int, int]:
    """A function's byte range, from any new comments directly above it to its end; a declaration ends with its semicolon."""
    start, end = byte_range_of(function)
    if body_of(function) is None and (semicolon := unit.text.find(b";", end)) >= 0 and not unit.text[end:semicolon].strip():
        end = semicolon + 1
    return with_comments(unit, start, without=baseline), end


def _changed_launches(
    baseline: HipSource, candidate: HipSource, before: SourceKernel, after: SourceKernel, functions: Sequence[_Function]
) -> list[LaunchText]:
    """The launches whose shapes the candidate writes differently. Nothing outside them, the kernel and the new functions may
    differ.
    """
    old = _tokens_outside(baseline.device, [(before.span.start, before.body.end)])
    new = _tokens_outside(
        candidate.device, [*((function.start, function.end) for function in functions), (after.span.start, after.body.end)]
    )
    (old, shapes), (new, other_shapes) = split_launches(old), split_launches(new)
    difference = first_difference(old, new)
    if difference is None:
        return [
            LaunchText(shape.start, shape.end, line_of(baseline.text, shape.start), tuple(texts(other_shape.tokens)))
            for shape, other_shape in zip(shapes, other_shapes, strict=True)
            if first_difference(shape.tokens, other_shape.tokens) is not None
        ]
    was, is_ = difference
    line = line_of(candidate.text, is_.start) if is_ else candidate.text.count(b"\n") + 1
    shown = _line(candidate.text, line) if is_ else "the end of the file"
    expected = f"`{_line(baseline.text, line_of(baseline.text, was.start))}`" if was else "nothing more"
    raise ChangeNotAllowedError(
        f"line {line} is not part of {before.name}, but differs: `{shown}`, in the baseline {expected}; only the body of "
        f"{before.name}, new __device__ functions and the shapes of its launches (between <<< and >>>) may differ"
    )


def _tokens_outside(unit: TranslationUnit, regions: Sequence[tuple[int, int]]) -> list[Token]:
    return [token for token in tokens_of(unit) if not any(start <= token.start < end for start, end in regions)]


def _line(text: bytes, number: int) -> str:
    return text.split(b"\n")[number - 1].decode(errors="replace").strip()[:120]


def _expect_plain_declarations(unit: TranslationUnit, function: Cursor) -> None:
    """Refuse variables that outlive a launch, assembler names, and functions declared in the body. An assembler name or a
    declaration could refer to any function that the program links. LDS is allowed because it does not outlive a launch;
    constants without mutable members are allowed because they cannot carry data from one launch to the next.
    """
    kinds = unit.bindings.CursorKind
    stack = [function]
    while stack:
        cursor = stack.pop()
        children = list(cursor.get_children())
        if cursor.kind == kinds.VAR_DECL and cursor.storage_class.name in ("STATIC", "EXTERN"):
            shared = any(child.kind == kinds.CUDASHARED_ATTR for child in children)
            if not shared and not _is_constant(cursor.type):
                raise ChangeNotAllowedError(
                    f"line {cursor.location.line} declares {cursor.spelling}, a variable that outlives a launch"
                )
        if cursor.kind == kinds.FUNCTION_DECL and cursor != function and not cursor.is_definition():
            raise ChangeNotAllowedError(
                f"line {cursor.location.line} declares the function {cursor.spelling} in another function's body"
            )
        if cursor.kind == kinds.ASM_LABEL_ATTR:
            raise ChangeNotAllowedError(
                f"line {cursor.location.line} uses an assembler name to give a function the symbol of another"
            )
        stack.extend(children)


def _restricted_declarations(unit: TranslationUnit, function: Cursor, is_kernel: bool) -> dict[str, int]:
    """Names and lines of the restrict-qualified declarations in a function, including those qualified through a type alias.

    A kernel's own parameters are left out: their promises are checked against its launches. The promises of other declarations
    are not checked.
    """
    kinds = unit.bindings.CursorKind
    judged = [byte_range_of(child) for child in function.get_children() if is_kernel and child.kind == kinds.PARM_DECL]
    return {
        cursor.spelling: cursor.location.line
        for cursor in walk(function)
        if cursor.kind in (kinds.VAR_DECL, kinds.PARM_DECL, kinds.FIELD_DECL)
        and cursor.type.get_canonical().is_restrict_qualified()
        and byte_range_of(cursor) not in judged
    }


def _expect_no_more_restrict(known: Mapping[str, int], restricted: Mapping[str, int]) -> None:
    if new := [name for name in restricted if name not in known]:
        raise ChangeNotAllowedError(
            f"line {restricted[new[0]]} makes {new[0] or 'something'} restrict, a promise that is not checked there: "
            "put __restrict__ on the kernel's own parameters"
        )


def _expect_no_other_kernel(unit: TranslationUnit, function: Cursor, target: SourceKernel, baseline: bytes) -> None:
    """Refuse references to kernels that the baseline's kernel does not name: a candidate must not learn another kernel's
    address.
    """
    kinds = unit.bindings.CursorKind
    for cursor in walk(function):
        named = cursor.referenced if cursor.kind.is_reference() or cursor.kind == kinds.DECL_REF_EXPR else None
        kernel = named is not None and any(child.kind == kinds.CUDAGLOBAL_ATTR for child in named.get_children())
        if kernel and cursor.spelling != target.last_name and not re.search(rb"\b%s\b" % cursor.spelling.encode(), baseline):
            raise ChangeNotAllowedError(f"line {cursor.location.line} refers to a different kernel, {cursor.spelling}")


def _is_constant(type_: ClangType) -> bool:
    canonical = type_.get_canonical()
    element = canonical
    while element.kind.name.endswith("ARRAY"):
        element = element.element_type.get_canonical()
    return (canonical.is_const_qualified() or element.is_const_qualified()) and not _has_mutable(element)


def _has_mutable(type_: ClangType) -> bool:
    fields = list(type_.get_fields()) if type_.kind.name == "RECORD" else []
    return any(field.is_mutable_field() or _has_mutable(field.type.get_canonical()) for field in fields)


def _expect_own_names(baseline: HipSource, functions: Sequence[_Function]) -> None:
    """Refuse new functions whose names occur in the baseline's source, so that no code in this file can call them. Names that
    other files call are refused by check_source().
    """
    words = {token.text for token in tokens_of(baseline.device)} if functions else set()
    for function in functions:
        if function.name in words:
            raise ChangeNotAllowedError(
                f"{function.name} was added, but the program uses that name already: choose another name"
            )
