"""Finds calls and statements that forbid reordering, in a region and in the functions called from it.

It knows the names of HIP's device functions and of Clang's AMDGPU builtins; functions with a body are searched as well, so that
wrappers cannot hide anything. A callee without a body is allowed only if it is known to be plain arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import libclang
from rocm_perf_lab.hip_source.cursors import walk
from rocm_perf_lab.hip_source.source_parts import ObstacleKind, ReorderingObstacle

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Bindings, Cursor

_BARRIERS = (
    "__syncthreads", "__syncwarp", "__builtin_amdgcn_s_barrier", "__builtin_amdgcn_fence", "__builtin_amdgcn_s_wait",
    "__threadfence", "__builtin_amdgcn_sched", "__builtin_amdgcn_wave_barrier", "__builtin_amdgcn_ds_gws",
)  # fmt: skip
_WAVE_BUILTINS = (
    "ds_bpermute", "ds_permute", "ds_swizzle", "mov_dpp", "update_dpp", "readlane", "readfirstlane", "writelane",
    "permlane", "mbcnt", "ballot", "read_exec", "mfma", "smfmac", "wqm", "set_inactive", "inverse_ballot",
    "s_getreg", "s_setreg", "icmp", "uicmp", "fcmp",
)  # fmt: skip
_WAVE = (
    "__shfl", "__ballot", "__any", "__all", "__activemask", "__match_", "__lane_id", "__reduce_",
    *(f"__builtin_amdgcn_{name}" for name in _WAVE_BUILTINS),
)  # fmt: skip
_ATOMICS = ("atomic", "__atomic", "__hip_atomic", "__opencl_atomic", "unsafeAtomic", "safeAtomic", "__scoped_atomic")
_SIDE_EFFECTS = (
    "printf", "__ockl_", "abort", "__assert", "malloc", "free", "__builtin_trap", "__builtin_amdgcn_s_sleep",
    "clock", "wall_clock", "__builtin_readcyclecounter", "__builtin_amdgcn_s_memtime", "__builtin_amdgcn_s_memrealtime",
)  # fmt: skip
_ARITHMETIC = ("__ocml_", "__builtin_", "__ockl_mul", "__ockl_clz", "__ockl_popcount", "operator")

_HARMLESS = ("__builtin_shufflevector", "__builtin_convertvector", "__builtin_choose_expr")  # these look like calls but are not

_NAMED_OBSTACLES = (
    (ObstacleKind.BARRIER, _BARRIERS),
    (ObstacleKind.WAVE_OPERATION, _WAVE),
    (ObstacleKind.ATOMIC, _ATOMICS),
    (ObstacleKind.SIDE_EFFECT, _SIDE_EFFECTS),
)


def classify(name: str) -> ObstacleKind | None:
    """The obstacle that a call to `name` represents, judged by the name alone; None if the called body must be searched."""
    if name.startswith("__builtin_amdgcn_") and "atomic" in name:
        return ObstacleKind.ATOMIC
    for obstacle, prefixes in _NAMED_OBSTACLES:
        if name.startswith(prefixes) and not name.startswith(("__ockl_mul", "__ockl_clz", "__ockl_popcount")):
            return obstacle
    return None


def find(cursor: Cursor, bindings: Bindings) -> tuple[ReorderingObstacle, ...]:
    """Everything under `cursor` that forbids reordering, in source order, once per line and name."""
    uses = _Search(bindings).inside(cursor, line=None, via=())
    return tuple(dict.fromkeys(uses))


class _Search:
    """One walk over the code; it remembers the functions visited, so that it terminates if they are recursive."""

    def __init__(self, bindings: Bindings):
        self._bindings = bindings
        self._kinds = kinds = bindings.CursorKind
        self._variables = (kinds.VAR_DECL, kinds.PARM_DECL, kinds.FIELD_DECL)
        self._visited: set[str] = set()

    def inside(self, cursor: Cursor, line: int | None, via: tuple[str, ...]) -> Iterator[ReorderingObstacle]:
        """The obstacles under a cursor.

        line: the line of the outermost call, for obstacles inside callees; None in the region itself.
        """
        left = [(cursor, line, via)]
        while left:
            cursor, line, via = left.pop()
            reported_line = line if line is not None else cursor.extent.start.line
            yield from self._obstacles_at(cursor, reported_line, via)
            left += [(child, line, via) for child in reversed(list(cursor.get_children()))]
            if cursor.kind == self._kinds.CALL_EXPR and (body := self._new_body(cursor.referenced)) is not None:
                left.append((body, reported_line, (*via, cursor.referenced.spelling)))

    def _obstacles_at(self, cursor: Cursor, line: int, via: tuple[str, ...]) -> Iterator[ReorderingObstacle]:
        """The obstacles that the cursor itself represents, not counting its children."""
        kinds = self._kinds
        kind = cursor.kind
        if kind in (kinds.ASM_STMT, kinds.MS_ASM_STMT):
            yield ReorderingObstacle(ObstacleKind.INLINE_ASM, "asm", line, via)
        elif kind in (kinds.GOTO_STMT, kinds.INDIRECT_GOTO_STMT, kinds.LABEL_STMT):
            yield ReorderingObstacle(ObstacleKind.JUMP, cursor.spelling or "goto", line, via)
        elif kind == kinds.CALL_EXPR:
            yield from self._call(cursor, line, via)
        elif kind == kinds.OVERLOADED_DECL_REF:  # a call that depends on a template parameter: only its name is known
            obstacle = classify(cursor.spelling)
            if obstacle:
                yield ReorderingObstacle(obstacle, cursor.spelling, line, via)
        if kind.is_expression():
            yield from self._expression(cursor, line, via)

    def _expression(self, cursor: Cursor, line: int, via: tuple[str, ...]) -> Iterator[ReorderingObstacle]:
        if name := libclang.unnamed_call(self._bindings, cursor):
            if name not in _HARMLESS:
                yield ReorderingObstacle(classify(name) or ObstacleKind.UNKNOWN_CALL, name, line, via)
        if cursor.type.is_volatile_qualified() or cursor.type.get_pointee().is_volatile_qualified():
            yield ReorderingObstacle(ObstacleKind.VOLATILE, cursor.spelling or "access", line, via)
        if cursor.kind == self._kinds.DECL_REF_EXPR and self._is_dynamic_lds(cursor.referenced):
            yield ReorderingObstacle(ObstacleKind.DYNAMIC_LDS, cursor.spelling, line, via)

    def _is_dynamic_lds(self, declaration: Cursor | None) -> bool:
        if declaration is None or declaration.kind != self._kinds.VAR_DECL or declaration.storage_class.name != "EXTERN":
            return False
        return any(child.kind == self._kinds.CUDASHARED_ATTR for child in declaration.get_children())

    def _call(self, cursor: Cursor, line: int, via: tuple[str, ...]) -> Iterator[ReorderingObstacle]:
        callee = cursor.referenced
        if callee is None:
            if not any(child.kind == self._kinds.OVERLOADED_DECL_REF for child in walk(cursor)):
                yield ReorderingObstacle(ObstacleKind.INDIRECT_CALL, cursor.spelling or "call", line, via)
            return
        if callee.kind in self._variables:
            yield ReorderingObstacle(ObstacleKind.INDIRECT_CALL, callee.spelling, line, via)
            return
        if obstacle := classify(callee.spelling):
            yield ReorderingObstacle(obstacle, callee.spelling, line, via)
        elif self._body(callee) is None:
            implicit = callee.is_default_method() or callee.kind in (self._kinds.CONSTRUCTOR, self._kinds.DESTRUCTOR)
            if not implicit and not callee.spelling.startswith(_ARITHMETIC):
                yield ReorderingObstacle(ObstacleKind.UNKNOWN_CALL, callee.spelling, line, via)

    def _body(self, callee: Cursor) -> Cursor | None:
        return callee.get_definition() or self._template(callee)

    def _new_body(self, callee: Cursor | None) -> Cursor | None:
        """The body of a called function; None if the function's name classifies it, or if the body was already visited."""
        if callee is None or callee.kind in self._variables or classify(callee.spelling):
            return None
        body = self._body(callee)
        if body is None or (name := body.get_usr()) in self._visited:
            return None
        self._visited.add(name)
        return body

    def _template(self, callee: Cursor) -> Cursor | None:
        """The body of the template that a function was instantiated from, if any: this is the code that runs."""
        template = self._bindings.conf.lib.clang_getSpecializedCursorTemplate(callee)
        return None if template.is_null() else template.get_definition()
