"""Whether code depends on the location of its text: on the file name that the compiler is given, or on line numbers.

When the user builds the program, the file name and the line numbers may differ from those in the judged build. `__FILE__`,
`__LINE__` and the names of lambdas' types put file names and line numbers into the code, and other constructs may do so too.
The code is therefore compiled again with different names and line numbers, and the results are compared.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf_lab.code_object.symbol_contents import SymbolContent, contents_by_symbol
from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.hip_source.flags import is_source

if TYPE_CHECKING:
    from rocm_perf_lab.gate.judge import Builder

_HINT = "(`__FILE__`, `__LINE__`, types of lambdas)"


def depends_on_location(
    baseline: HipSource, judged: HipSource, candidate_text: bytes, plain: bytes, builder: Builder
) -> str | None:
    """How the candidate's code, unlike the baseline's, depends on its file's name or on line numbers, or why it does not
    compile under another file name. None if it compiles under every name and has no such dependence.

    candidate_text: the contents of the candidate's file. plain: the text that would be kept, without line directives. Raises
    any error from building the baseline.
    """
    for before, after in zip(_units(baseline), _units(judged), strict=True):
        code = contents_by_symbol(builder.code_object(after))
        places = [(name, after.with_text(candidate_text)) for name in usual_names(after)]
        places.append((_unpredictable_name(after.main), after.with_text(_with_shifted_lines(plain))))
        for name, source in places:
            try:
                moved = _differing_names(code, contents_by_symbol(builder.code_object_named(source, name)))
            except SourceError as error:
                return f"it does not compile if its file is named {name}: {error.problem}"
            if moved and (differing := moved - _location_dependent_pieces(before, builder)):
                return f"its code depends on the name of its file or on its line {_HINT}: {sorted(differing)[0]} differs"
    return None


def _units(source: HipSource) -> Iterator[HipSource]:
    yield source
    yield from source.other_units_of_program


def usual_names(unit: HipSource) -> list[str]:
    """The main file's name as written in the unit's own command, and its path relative to the unit's folder."""
    main = unit.main.resolve()
    written = [word for word in unit.command if is_source(word) and (unit.folder / word).resolve() == main]
    return list(dict.fromkeys([*written, os.path.relpath(main, unit.folder.resolve())]))


def _unpredictable_name(main: Path) -> str:
    """A name that nobody could have predicted."""
    path = main.resolve()
    return f"{path.parent}{'/.' * (8 + secrets.randbelow(56))}/{path.name}"


def _with_shifted_lines(text: bytes) -> bytes:
    return b"\n" * (100 + secrets.randbelow(5000)) + text


def _location_dependent_pieces(baseline: HipSource, builder: Builder) -> set[str]:
    """The pieces of the baseline's code that depend on their location."""
    moved = builder.code_object_named(
        baseline.with_text(_with_shifted_lines(baseline.text)), _unpredictable_name(baseline.main)
    )
    return _differing_names(contents_by_symbol(builder.code_object(baseline)), contents_by_symbol(moved))


def _differing_names(one: dict[str, SymbolContent], other: dict[str, SymbolContent]) -> set[str]:
    return {name for name in {*one, *other} if one.get(name) != other.get(name)}
